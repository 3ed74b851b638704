//! How a test's client responds to requests, scripted before.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::Error;
use crate::client_requests::ClientRequest;
use crate::testing::TestClient;

/// A request that the client got.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRequest {
    /// The key of the request.
    pub key: Option<String>,
    /// `sampling/createMessage`, `elicitation/create` or `roots/list`.
    pub method: &'static str,
    /// Its parameters.
    pub params: Value,
}

/// `None` when the client lacks this capability.
type Queue = RefCell<Option<VecDeque<Result<Value, Error>>>>;

#[derive(Debug, Default)]
pub(super) struct ScriptedResponses {
    sampling: Queue,
    elicitation: Queue,
    roots: RefCell<Option<Value>>,
    requests: RefCell<Vec<RecordedRequest>>,
    is_denied: Cell<bool>,
}

impl ScriptedResponses {
    pub(super) fn respond(&self, key: Option<&str>, request: &ClientRequest) -> Result<String, Error> {
        let (method, params) = match request {
            ClientRequest::CreateMessage(params) => ("sampling/createMessage", params.as_str()),
            ClientRequest::Elicit(params) => ("elicitation/create", params.as_str()),
            ClientRequest::ListRoots => ("roots/list", "{}"),
        };
        let params: Value = serde_json::from_str(params).unwrap_or_else(|_| params.into());
        #[cfg(all(feature = "validation", not(target_family = "wasm")))]
        let form = params.get("requestedSchema").cloned();
        self.requests.borrow_mut().push(RecordedRequest { key: key.map(str::to_owned), method, params });
        if self.is_denied.get() {
            let capability = match request {
                ClientRequest::CreateMessage(_) => "sampling",
                ClientRequest::Elicit(_) => "elicitation",
                ClientRequest::ListRoots => "roots",
            };
            return Err(Error::Denied(format!("this server does not grant `{capability}` to the plugin")));
        }
        let result = match request {
            ClientRequest::CreateMessage(_) => next(&self.sampling, "sampling"),
            ClientRequest::Elicit(_) => next(&self.elicitation, "elicitation"),
            ClientRequest::ListRoots => {
                let roots = self.roots.borrow().clone();
                roots.ok_or_else(|| Error::MissingCapability("roots".to_owned()))
            }
        }?;
        #[cfg(all(feature = "validation", not(target_family = "wasm")))]
        if let Some(form) = form {
            super::forms::check(&form, &result)?;
        }
        Ok(result.to_string())
    }

    #[cfg(not(target_family = "wasm"))]
    pub(super) fn is_denied(&self) -> bool {
        self.is_denied.get()
    }
}

fn next(queue: &Queue, capability: &str) -> Result<Value, Error> {
    match queue.borrow_mut().as_mut() {
        None => Err(Error::MissingCapability(capability.to_owned())),
        Some(results) => results.pop_front().unwrap_or_else(|| {
            Err(Error::Internal(format!("the test has no more responses for {capability}")))
        }),
    }
}

/// Responses, each to the next request of its kind. A client with a response has the capability too.
impl TestClient {
    /// Lets the model respond with this text.
    #[must_use]
    pub fn samples(self, text: impl Into<String>) -> Self {
        let content = json!({"type": "text", "text": text.into()});
        let result =
            json!({"role": "assistant", "content": content, "model": "test", "stopReason": "endTurn"});
        self.samples_with(Ok(result))
    }

    /// Lets sampling have this outcome: the result of `sampling/createMessage`, or an error.
    #[must_use]
    pub fn samples_with(self, outcome: Result<Value, Error>) -> Self {
        self.0.client.borrow_mut().sampling = true;
        self.0.responses.sampling.borrow_mut().get_or_insert_default().push_back(outcome);
        self
    }

    /// Lets the person fill in the form like this.
    #[must_use]
    pub fn accepts(self, content: Value) -> Self {
        self.elicits_with(Ok(json!({"action": "accept", "content": content})))
    }

    /// Lets the person go to a web page.
    #[must_use]
    pub fn visits(self) -> Self {
        self.elicits_with(Ok(json!({"action": "accept"})))
    }

    /// Lets the person decline.
    #[must_use]
    pub fn declines(self) -> Self {
        self.elicits_with(Ok(json!({"action": "decline"})))
    }

    /// Lets the person close the form or page.
    #[must_use]
    pub fn closes(self) -> Self {
        self.elicits_with(Ok(json!({"action": "cancel"})))
    }

    /// Lets elicitation have this outcome: the result of `elicitation/create`, or an error.
    #[must_use]
    pub fn elicits_with(self, outcome: Result<Value, Error>) -> Self {
        self.0.client.borrow_mut().elicitation = true;
        self.0.responses.elicitation.borrow_mut().get_or_insert_default().push_back(outcome);
        self
    }

    /// Lets the user have these folders: URIs, and names where they have them.
    #[must_use]
    pub fn has_roots<'a>(self, roots: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Self {
        let listed = roots.into_iter().map(|(uri, name)| match name {
            Some(name) => json!({"uri": uri, "name": name}),
            None => json!({"uri": uri}),
        });
        let listed = json!({"roots": listed.collect::<Value>()});
        self.0.client.borrow_mut().roots = true;
        self.0.responses.roots.replace(Some(listed));
        self
    }

    /// Lets the operator grant neither client requests nor the store to calls of this client. Functions that the test
    /// calls directly have no store on this thread from then on.
    #[cfg(not(target_family = "wasm"))]
    #[must_use]
    pub fn denies(self) -> Self {
        self.0.responses.is_denied.set(true);
        crate::kv::set_denied(true);
        self
    }

    /// The requests that the client got so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.0.responses.requests.borrow().clone()
    }
}
