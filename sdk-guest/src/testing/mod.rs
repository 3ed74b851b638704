//! Run tools in ordinary unit tests, without a host and without WebAssembly.
//!
//! ```
//! use plugport_sdk::prelude::*;
//! use plugport_sdk::{serde_json::json, testing};
//!
//! /// Greet someone by name.
//! #[tool]
//! fn hello(call: &Call, name: String) -> String {
//!     call.info("greeting");
//!     format!("Hello, {name}!")
//! }
//!
//! // As a function:
//! assert_eq!(hello(&testing::call(), "Bob".to_owned()), "Hello, Bob!");
//! // As the host calls it:
//! let outcome = testing::invoke::<hello>(json!({"name": "Bob"}));
//! assert_eq!(outcome.text(), "Hello, Bob!");
//! assert_eq!(outcome.logs()[0].data, "greeting");
//! ```

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::call::ScriptedClient;
use crate::client_requests::ClientRequest;
use crate::completions::{self, Completer, Completion, CompletionContext};
#[cfg(not(target_family = "wasm"))]
use crate::http::{Failure, Request, Response};
#[cfg(not(target_family = "wasm"))]
use crate::notify::Change;
use crate::prompts::{self, PromptResult};
use crate::resources::{self, MatchedTemplate, ResourceContents, ResourceEntry};
use crate::tools::{self, ToolDescription};
use crate::{Call, ClientInfo, Content, Error, Level, Prompt, Resource, Tool, ToolResult};

#[cfg(all(feature = "validation", not(target_family = "wasm")))]
mod forms;
#[cfg(all(feature = "validation", not(target_family = "wasm")))]
mod nulls;
mod scripted_client;
#[cfg(all(feature = "validation", not(target_family = "wasm")))]
mod validation;

pub use scripted_client::RecordedRequest;

/// A call for tests that do not read its log or its progress.
pub fn call() -> Call {
    TestClient::new().call()
}

/// Calls a tool through JSON, as the host does.
///
/// Arguments that do not fit the tool's schema are rejected before the tool runs, and structured content that does not
/// fit the other schema afterwards, with the error that clients get. That takes the feature `validation`, which is on
/// by default; without it arguments only have to fit the parameters' types.
pub fn invoke<T: Tool>(arguments: Value) -> Outcome {
    TestClient::new().invoke::<T>(arguments)
}

/// Reads a fixed resource as the host does, by its URI.
///
/// # Errors
/// `NotFound` when it has another URI, and the function's own.
pub fn read<R: Resource>(uri: &str) -> Result<Vec<ResourceContents>, Error> {
    TestClient::new().read::<R>(uri)
}

/// Reads a URI as the host does when the URI comes from the template and has these values for its variables, decoded.
///
/// # Errors
/// `NotFound` when the values do not fit the parameters, and the function's own.
pub fn read_template<'a, R: Resource>(
    uri: &str,
    variables: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<ResourceContents>, Error> {
    TestClient::new().read_template::<R>(uri, variables)
}

/// Gets a prompt for these arguments, as the host does.
///
/// # Errors
/// `InvalidParams` when the arguments do not fit, and the function's own.
pub fn get_prompt<'a, P: Prompt>(
    arguments: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<PromptResult, Error> {
    TestClient::new().get_prompt::<P>(arguments)
}

/// Completes the text typed so far; `context` has the other arguments.
///
/// # Errors
/// The function's own.
pub fn complete<'a, C: Completer>(
    value: &str,
    context: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Completion, Error> {
    TestClient::new().complete::<C>(value, context)
}

/// The description of a tool for clients.
///
/// # Errors
/// When the tool cannot be described, which the host would report at load.
pub fn describe<T: Tool>() -> Result<ToolDescription, Error> {
    T::describe()
}

/// The changes given to [`notify`](crate::notify) on this thread since the last call of this function.
#[cfg(not(target_family = "wasm"))]
pub fn changes() -> Vec<Change> {
    crate::notify::take()
}

/// Replaces the settings of [`config`](crate::config) on this thread.
#[cfg(not(target_family = "wasm"))]
pub fn configure<'a>(values: impl IntoIterator<Item = (&'a str, &'a str)>) {
    crate::config::set(owned(values).into_iter().collect());
}

/// Replaces the secrets of [`config`](crate::config) on this thread, which are read like settings and not listed.
#[cfg(not(target_family = "wasm"))]
pub fn configure_secrets<'a>(values: impl IntoIterator<Item = (&'a str, &'a str)>) {
    crate::config::set_secrets(owned(values).into_iter().collect());
}

/// Responds to the requests of [`http`](crate::http) on this thread, from now on. Without this every request is denied.
#[cfg(not(target_family = "wasm"))]
pub fn answer_http(responder: impl FnMut(&Request) -> Result<Response, Failure> + 'static) {
    crate::http::script::respond(responder);
}

/// The requests sent with [`http`](crate::http) on this thread since the last call of this function.
#[cfg(not(target_family = "wasm"))]
pub fn http_requests() -> Vec<Request> {
    crate::http::script::take()
}

/// A log message.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRecord {
    /// The level.
    pub level: Level,
    /// Who logged it: the target of a record of the crates `log` and `tracing`.
    pub logger: Option<String>,
    /// A string, or any JSON.
    pub data: Value,
}

/// A report of progress.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressRecord {
    /// The amount done.
    pub done: f64,
    /// The total amount, if known.
    pub total: Option<f64>,
    /// The message, if there is one.
    pub message: Option<String>,
}

/// A client that records logs, progress and requests. Clones share the records.
#[derive(Debug, Clone)]
pub struct TestClient(Rc<Recorded>);

#[derive(Debug)]
struct Recorded {
    client: RefCell<ClientInfo>,
    principal: RefCell<Option<String>>,
    meta: RefCell<Option<Map<String, Value>>>,
    cancelled: Cell<bool>,
    logs: RefCell<Vec<LogRecord>>,
    progress: RefCell<Vec<ProgressRecord>>,
    responses: scripted_client::ScriptedResponses,
}

impl Default for TestClient {
    fn default() -> Self {
        Self::new()
    }
}

impl TestClient {
    /// A client called `test` without capabilities.
    pub fn new() -> Self {
        Self(Rc::new(Recorded {
            client: RefCell::new(ClientInfo {
                name: "test".to_owned(),
                version: "0".to_owned(),
                protocol: "2026-07-28".to_owned(),
                sampling: false,
                elicitation: false,
                roots: false,
                extensions: Vec::new(),
            }),
            principal: RefCell::default(),
            meta: RefCell::default(),
            cancelled: Cell::new(false),
            logs: RefCell::default(),
            progress: RefCell::default(),
            responses: scripted_client::ScriptedResponses::default(),
        }))
    }

    /// Replaces the client's name, version, revision, capabilities and extensions.
    #[must_use]
    pub fn with_client(self, client: ClientInfo) -> Self {
        self.0.client.replace(client);
        self
    }

    /// Sets the caller's principal.
    #[must_use]
    pub fn with_principal(self, principal: impl Into<String>) -> Self {
        self.0.principal.replace(Some(principal.into()));
        self
    }

    /// Sets the request's `_meta`.
    #[must_use]
    pub fn with_meta(self, meta: Map<String, Value>) -> Self {
        self.0.meta.replace(Some(meta));
        self
    }

    /// Cancels the call, from now on.
    pub fn cancel(&self) {
        self.0.cancelled.set(true);
    }

    /// A call by this client.
    pub fn call(&self) -> Call {
        Call::scripted(self.clone())
    }

    /// Calls a tool through JSON, as [`testing::invoke`](invoke) does.
    pub fn invoke<T: Tool>(&self, arguments: Value) -> Outcome {
        let run = |arguments: Value| self.run(|call| tools::run(T::call, call, &arguments.to_string()));
        #[cfg(all(feature = "validation", not(target_family = "wasm")))]
        let result = match validation::arguments::<T>(arguments) {
            Ok(arguments) => run(arguments).and_then(validation::result::<T>),
            Err(rejected) => rejected,
        };
        #[cfg(not(all(feature = "validation", not(target_family = "wasm"))))]
        let result = run(arguments);
        Outcome { result, client: self.clone() }
    }

    /// Reads a fixed resource, as [`testing::read`](read) does.
    ///
    /// # Errors
    /// Those of [`testing::read`](read).
    pub fn read<R: Resource>(&self, uri: &str) -> Result<Vec<ResourceContents>, Error> {
        self.run(|call| resources::read(&[ResourceEntry::new::<R>()], call, uri, None))
    }

    /// Reads a resource of a template, as [`testing::read_template`](read_template) does.
    ///
    /// # Errors
    /// Those of [`testing::read_template`](read_template).
    pub fn read_template<'a, R: Resource>(
        &self,
        uri: &str,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Vec<ResourceContents>, Error> {
        let template = MatchedTemplate { uri_template: R::URI.to_owned(), variables: owned(variables) };
        self.run(|call| resources::read(&[ResourceEntry::new::<R>()], call, uri, Some(&template)))
    }

    /// Gets a prompt, as [`testing::get_prompt`](get_prompt) does.
    ///
    /// # Errors
    /// Those of [`testing::get_prompt`](get_prompt).
    pub fn get_prompt<'a, P: Prompt>(
        &self,
        arguments: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<PromptResult, Error> {
        self.run(|call| prompts::run(P::get, call, &owned(arguments)))
    }

    /// Completes an argument, as [`testing::complete`](complete) does.
    ///
    /// # Errors
    /// Those of [`testing::complete`](complete).
    pub fn complete<'a, C: Completer>(
        &self,
        value: &str,
        context: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Completion, Error> {
        self.run(|call| completions::run(C::complete, call, value, &CompletionContext::new(owned(context))))
    }

    /// Runs code of the plugin as a call of this client, whose operator may deny the store.
    fn run<T>(&self, job: impl FnOnce(&Call) -> T) -> T {
        #[cfg(not(target_family = "wasm"))]
        let before = crate::kv::set_denied(self.0.responses.is_denied());
        let made = job(&self.call());
        #[cfg(not(target_family = "wasm"))]
        crate::kv::set_denied(before);
        made
    }

    /// The log messages so far.
    pub fn logs(&self) -> Vec<LogRecord> {
        self.0.logs.borrow().clone()
    }

    /// The progress that was reported so far.
    pub fn progress(&self) -> Vec<ProgressRecord> {
        self.0.progress.borrow().clone()
    }
}

fn owned<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<(String, String)> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

impl ScriptedClient for TestClient {
    fn client(&self) -> ClientInfo {
        self.0.client.borrow().clone()
    }

    fn principal(&self) -> Option<String> {
        self.0.principal.borrow().clone()
    }

    fn meta(&self) -> Option<String> {
        let meta = self.0.meta.borrow().clone();
        meta.map(|meta| Value::Object(meta).to_string())
    }

    fn cancelled(&self) -> bool {
        self.0.cancelled.get()
    }

    fn log(&self, level: Level, logger: Option<&str>, data: &str) {
        self.0.logs.borrow_mut().push(LogRecord {
            level,
            logger: logger.map(str::to_owned),
            data: serde_json::from_str(data).unwrap_or_else(|_| data.into()),
        });
    }

    fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        self.0.progress.borrow_mut().push(ProgressRecord {
            done,
            total,
            message: message.map(str::to_owned),
        });
    }

    /// This client knows no tasks, so it waits.
    fn detach(&self, _: Option<&str>) -> bool {
        false
    }

    fn respond(&self, key: Option<&str>, request: &ClientRequest) -> Result<String, Error> {
        self.0.responses.respond(key, request)
    }
}

/// The outcome of a tool call.
#[derive(Debug)]
pub struct Outcome {
    result: Result<ToolResult, Error>,
    client: TestClient,
}

impl Outcome {
    /// The result, or the error by which the call was rejected before the tool ran.
    ///
    /// # Errors
    /// The error.
    pub fn result(&self) -> Result<&ToolResult, &Error> {
        self.result.as_ref()
    }

    /// Whether the tool failed or the call was rejected.
    pub fn is_error(&self) -> bool {
        self.result.as_ref().map_or(true, |result| result.is_error)
    }

    /// The text of the result, its pieces on lines of their own; the error's message when there is no result.
    pub fn text(&self) -> String {
        match &self.result {
            Ok(result) => {
                let pieces: Vec<_> = result.content.iter().filter_map(Content::as_text).collect();
                pieces.join("\n")
            }
            Err(error) => error.to_string(),
        }
    }

    /// The content of the result; empty when there is no result.
    pub fn content(&self) -> &[Content] {
        self.result.as_ref().map_or(&[], |result| &result.content)
    }

    /// The structured content.
    pub fn structured(&self) -> Option<Value> {
        let text = self.result.as_ref().ok()?.structured.as_deref()?;
        serde_json::from_str(text).ok()
    }

    /// The log messages.
    pub fn logs(&self) -> Vec<LogRecord> {
        self.client.logs()
    }

    /// The progress that was reported.
    pub fn progress(&self) -> Vec<ProgressRecord> {
        self.client.progress()
    }
}
