//! The request that a tool serves, as the tool sees it.
//!
//! A tool should run on its author's machine as it runs in the host, so a [`Call`] depends on neither: it uses a
//! [`CallBackend`], which is the host's handle inside a plugin and a [`TestClient`](crate::testing::TestClient) in a
//! test. The backend is reference-counted, because the log bridges need it for as long as the tool runs and cannot hold
//! a borrow.

use std::cell::OnceCell;
use std::fmt::{self, Display};
use std::rc::Rc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::bindings::request;
use crate::client_requests::RequestTarget;
use crate::json;

pub use crate::bindings::request::{ClientInfo, LogLevel as Level};

/// What a call uses: the host's handle or a test client. Data and meta are JSON.
pub(crate) trait CallBackend {
    fn client(&self) -> ClientInfo;
    fn principal(&self) -> Option<String>;
    fn meta(&self) -> Option<String>;
    fn cancelled(&self) -> bool;
    fn log(&self, level: Level, logger: Option<&str>, data: &str);
    fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>);
    /// Where requests to the client go.
    fn request_target(&self) -> RequestTarget<'_>;
}

impl CallBackend for request::Call {
    fn client(&self) -> ClientInfo {
        self.client()
    }
    fn principal(&self) -> Option<String> {
        self.principal()
    }
    fn meta(&self) -> Option<String> {
        self.meta()
    }
    fn cancelled(&self) -> bool {
        self.cancelled()
    }
    fn log(&self, level: Level, logger: Option<&str>, data: &str) {
        self.log(level, logger, data);
    }
    fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        self.progress(done, total, message);
    }
    fn request_target(&self) -> RequestTarget<'_> {
        RequestTarget::Host(self)
    }
}

/// The request being served: its client, whether it was cancelled, its log and its progress.
///
/// A tool gets it by having a parameter of type `&Call`.
pub struct Call {
    backend: Rc<dyn CallBackend>,
    client: OnceCell<ClientInfo>,
}

impl Call {
    pub(crate) fn new(backend: impl CallBackend + 'static) -> Self {
        Self { backend: Rc::new(backend), client: OnceCell::new() }
    }

    pub(crate) fn backend(&self) -> Rc<dyn CallBackend> {
        Rc::clone(&self.backend)
    }

    pub(crate) fn request_target(&self) -> RequestTarget<'_> {
        self.backend.request_target()
    }

    /// The client: its name and version, its MCP revision, and the requests that it supports.
    ///
    /// `sampling`, `elicitation` and `roots` say whether the client supports [`sample`](Self::sample),
    /// [`elicit`](Self::elicit) and [`roots`](Self::roots); otherwise these fail with [`Error::MissingCapability`].
    ///
    /// [`Error::MissingCapability`]: crate::Error::MissingCapability
    pub fn client(&self) -> &ClientInfo {
        self.client.get_or_init(|| self.backend.client())
    }

    /// Who makes the request, when the server authenticates its callers.
    pub fn principal(&self) -> Option<String> {
        self.backend.principal()
    }

    /// The request's `_meta` without the keys that MCP reserves; empty when there is none.
    pub fn meta(&self) -> Map<String, Value> {
        let meta = self.backend.meta();
        meta.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// Whether the client has cancelled the request. A long-running tool checks this now and then and returns early.
    pub fn cancelled(&self) -> bool {
        self.backend.cancelled()
    }

    /// Sends any JSON to the client's log. Data that cannot be JSON, such as a map with numbers for keys, is logged as
    /// the reason why not.
    pub fn log(&self, level: Level, data: impl Serialize) {
        let data = json::written(&data).unwrap_or_else(|error| text(&error));
        self.backend.log(level, None, &data);
    }

    /// Logs a line at level debug.
    pub fn debug(&self, message: impl Display) {
        self.backend.log(Level::Debug, None, &text(&message));
    }

    /// Logs a line at level info.
    pub fn info(&self, message: impl Display) {
        self.backend.log(Level::Info, None, &text(&message));
    }

    /// Logs a line at level notice.
    pub fn notice(&self, message: impl Display) {
        self.backend.log(Level::Notice, None, &text(&message));
    }

    /// Logs a line at level warning.
    pub fn warning(&self, message: impl Display) {
        self.backend.log(Level::Warning, None, &text(&message));
    }

    /// Logs a line at level error. The call goes on; to fail it, return `Err`.
    pub fn error(&self, message: impl Display) {
        self.backend.log(Level::Error, None, &text(&message));
    }

    /// Reports progress to the client: `done` of `total`, if the total is known, and a message.
    ///
    /// `done` must grow from one report to the next.
    ///
    /// ```
    /// # let call = plugport_sdk::testing::call();
    /// call.progress(1.0, 4.0, "reading");
    /// call.progress(2.0, None, None);
    /// ```
    pub fn progress<'m>(
        &self,
        done: f64,
        total: impl Into<Option<f64>>,
        message: impl Into<Option<&'m str>>,
    ) {
        self.backend.progress(done, total.into(), message.into());
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}

/// A message as a JSON string.
pub(crate) fn text(message: &dyn Display) -> String {
    Value::String(message.to_string()).to_string()
}
