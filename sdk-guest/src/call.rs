//! The request that a tool serves, as the tool sees it.
//!
//! A tool should run on its author's machine as it runs in the host, so a [`Call`] depends on neither: it uses a
//! [`CallBackend`], which is the host's handle inside a plugin and a [`TestClient`](crate::testing::TestClient) in a
//! test. The backend is reference-counted, because the log bridges need it for as long as the tool runs and cannot hold
//! a borrow.
//!
//! The backend is an enum, so that a plugin imports only the functions of the host that it calls. An object with both
//! behind one trait would make every plugin import all of them, and each import costs time in every fresh instance. So
//! each interface's own module calls the host, too, and the operator sees which capabilities a plugin really uses.

use std::cell::{Cell, OnceCell};
use std::fmt::{self, Display};
use std::rc::Rc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::bindings::detaching::tasks;
use crate::bindings::request;
use crate::client_requests::ClientRequest;
use crate::{Error, json};

pub use crate::bindings::request::{ClientInfo, LogLevel as Level};

/// What a call uses.
pub(crate) enum CallBackend {
    /// The host's handle.
    Host(request::Call),
    /// A test's client.
    Test(Box<dyn ScriptedClient>),
}

/// Stands in for the host and its client in a test. Data and meta are JSON.
pub(crate) trait ScriptedClient {
    fn client(&self) -> ClientInfo;
    fn principal(&self) -> Option<String>;
    fn meta(&self) -> Option<String>;
    fn cancelled(&self) -> bool;
    fn log(&self, level: Level, logger: Option<&str>, data: &str);
    fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>);
    fn detach(&self, status: Option<&str>) -> bool;
    /// The result of the MCP request, in JSON.
    fn respond(&self, key: Option<&str>, request: &ClientRequest) -> Result<String, Error>;
}

impl ClientInfo {
    /// Whether the client declared this extension of MCP.
    ///
    /// ```
    /// # let call = plugport_sdk::testing::call();
    /// let shows_apps = call.client().supports("io.modelcontextprotocol/ui");
    /// # assert!(!shows_apps);
    /// ```
    pub fn supports(&self, extension: &str) -> bool {
        self.extensions.iter().any(|declared| declared == extension)
    }
}

impl CallBackend {
    /// Logs data, which is JSON.
    pub(crate) fn log(&self, level: Level, logger: Option<&str>, data: &str) {
        match self {
            Self::Host(handle) => handle.log(level, logger, data),
            Self::Test(client) => client.log(level, logger, data),
        }
    }
}

/// The request being served: its client, whether it was cancelled, its log and its progress.
///
/// A tool gets it by having a parameter of type `&Call`.
pub struct Call {
    backend: Rc<CallBackend>,
    client: OnceCell<ClientInfo>,
    /// How many keys [`next_key`](Self::next_key) has made.
    keys: Cell<usize>,
}

impl Call {
    /// The call of this handle.
    pub(crate) fn new(handle: request::Call) -> Self {
        Self::with(CallBackend::Host(handle))
    }

    /// A call of a test.
    pub(crate) fn scripted(client: impl ScriptedClient + 'static) -> Self {
        Self::with(CallBackend::Test(Box::new(client)))
    }

    fn with(backend: CallBackend) -> Self {
        Self { backend: Rc::new(backend), client: OnceCell::new(), keys: Cell::new(0) }
    }

    pub(crate) const fn backend(&self) -> &Rc<CallBackend> {
        &self.backend
    }

    /// A key for a request that is sent with others and has none.
    pub(crate) fn next_key(&self) -> String {
        let count = self.keys.get() + 1;
        self.keys.set(count);
        format!("input-{count}")
    }

    /// The client: its name and version, its MCP revision, the requests that it supports and the extensions that it
    /// declared.
    ///
    /// `sampling`, `elicitation` and `roots` say whether the client supports [`sample`](Self::sample),
    /// [`elicit`](Self::elicit) and [`roots`](Self::roots); otherwise these fail with [`Error::MissingCapability`].
    ///
    /// [`Error::MissingCapability`]: crate::Error::MissingCapability
    pub fn client(&self) -> &ClientInfo {
        self.client.get_or_init(|| match self.backend.as_ref() {
            CallBackend::Host(handle) => handle.client(),
            CallBackend::Test(client) => client.client(),
        })
    }

    /// Who makes the request, when the server authenticates its callers.
    pub fn principal(&self) -> Option<String> {
        match self.backend.as_ref() {
            CallBackend::Host(handle) => handle.principal(),
            CallBackend::Test(client) => client.principal(),
        }
    }

    /// The request's `_meta` without the keys that MCP reserves; empty when there is none.
    pub fn meta(&self) -> Map<String, Value> {
        let meta = match self.backend.as_ref() {
            CallBackend::Host(handle) => handle.meta(),
            CallBackend::Test(client) => client.meta(),
        };
        meta.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// Whether the client has cancelled the request. A long-running tool checks this now and then and returns early.
    pub fn cancelled(&self) -> bool {
        match self.backend.as_ref() {
            CallBackend::Host(handle) => handle.cancelled(),
            CallBackend::Test(client) => client.cancelled(),
        }
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

    /// Lets the client go on without waiting for this call, if it knows tasks: it gets the id of a task, and fetches the
    /// result later. Returns whether the call is a task now; if not, everything goes on as before.
    ///
    /// A call that takes long becomes a task by itself. A tool says it earlier if it knows that it will take long, or
    /// if what it asks from here on belongs to the task. `status` is for people; the messages of
    /// [`progress`](Self::progress) replace it.
    ///
    /// ```
    /// # let call = plugport_sdk::testing::call();
    /// call.detach("rendering 400 pages");
    /// ```
    pub fn detach<'m>(&self, status: impl Into<Option<&'m str>>) -> bool {
        match self.backend.as_ref() {
            CallBackend::Host(handle) => tasks::detach(handle, status.into()),
            CallBackend::Test(client) => client.detach(status.into()),
        }
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
        let (total, message) = (total.into(), message.into());
        match self.backend.as_ref() {
            CallBackend::Host(handle) => handle.progress(done, total, message),
            CallBackend::Test(client) => client.progress(done, total, message),
        }
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
