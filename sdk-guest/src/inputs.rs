//! The interface `inputs`: several requests in one round trip.
//!
//! Sent one after the other, three requests make a stateless client repeat its whole request three times (MRTR). Send
//! requests that do not depend on one another's results together.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::bindings::inputs as wit;
use crate::call::{CallBackend, ScriptedClient};
use crate::client_requests::ClientRequest;
use crate::elicitation::{self, ElicitResult};
use crate::roots::{self, Root};
use crate::sampling::{CreateMessageRequest, CreateMessageResult};
use crate::{Call, Error};

/// Requests to be sent together, each under a key of its own, for [`Call::request_inputs`].
#[derive(Debug, Clone, Default)]
pub struct InputBatch {
    requests: Vec<(String, Result<ClientRequest, Error>)>,
}

impl InputBatch {
    /// No request yet.
    pub const fn new() -> Self {
        Self { requests: Vec::new() }
    }

    /// Asks the model, as [`Call::sample`] does.
    #[must_use]
    pub fn sample(self, key: impl Into<String>, sample: impl Into<CreateMessageRequest>) -> Self {
        self.with(key.into(), sample.into().params().map(ClientRequest::CreateMessage))
    }

    /// Shows a form, as [`Call::elicit`] does.
    #[must_use]
    pub fn elicit<T: JsonSchema>(self, key: impl Into<String>, message: impl Into<String>) -> Self {
        let params = elicitation::typed::<T>(message.into());
        self.with(key.into(), params.map(|params| ClientRequest::Elicit(params.to_string())))
    }

    /// Shows a form, as [`Call::elicit_form`] does.
    #[must_use]
    pub fn elicit_form(self, key: impl Into<String>, message: impl Into<String>, schema: Value) -> Self {
        let params = elicitation::form(message.into(), schema);
        self.with(key.into(), Ok(ClientRequest::Elicit(params.to_string())))
    }

    /// Sends the person to a web page, as [`Call::elicit_url`] does.
    #[must_use]
    pub fn elicit_url(
        self,
        key: impl Into<String>,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Self {
        let params = elicitation::page(message.into(), url.into());
        self.with(key.into(), Ok(ClientRequest::Elicit(params.to_string())))
    }

    /// Asks for the user's folders, as [`Call::roots`] does.
    #[must_use]
    pub fn roots(self, key: impl Into<String>) -> Self {
        self.with(key.into(), Ok(ClientRequest::ListRoots))
    }

    fn with(mut self, key: String, request: Result<ClientRequest, Error>) -> Self {
        self.requests.push((key, request));
        self
    }
}

/// The results, each under the key of its request.
#[derive(Debug, Clone)]
pub struct InputResults {
    outcomes: BTreeMap<String, Result<String, Error>>,
}

impl InputResults {
    /// The model's message.
    ///
    /// # Errors
    /// Those of [`Call::sample`], and `Internal` when there was no such request.
    pub fn sampled(&self, key: &str) -> Result<CreateMessageResult, Error> {
        CreateMessageResult::parse(self.result(key)?)
    }

    /// The outcome of the form, when the request was [`InputBatch::elicit`] or [`InputBatch::elicit_form`].
    ///
    /// # Errors
    /// Those of [`Call::elicit`], and `Internal` when there was no such request.
    pub fn elicited<T: DeserializeOwned>(&self, key: &str) -> Result<ElicitResult<T>, Error> {
        elicitation::parse(self.result(key)?)
    }

    /// The outcome of [`InputBatch::elicit_form`], with the form as JSON.
    ///
    /// # Errors
    /// Those of [`InputResults::elicited`].
    pub fn elicited_form(&self, key: &str) -> Result<ElicitResult<Map<String, Value>>, Error> {
        self.elicited(key)
    }

    /// Whether the person went to the page of [`InputBatch::elicit_url`].
    ///
    /// # Errors
    /// Those of [`InputResults::elicited`].
    pub fn visited(&self, key: &str) -> Result<ElicitResult<()>, Error> {
        elicitation::parse_visit(self.result(key)?)
    }

    /// The user's folders.
    ///
    /// # Errors
    /// Those of [`Call::roots`], and `Internal` when there was no such request.
    pub fn roots(&self, key: &str) -> Result<Vec<Root>, Error> {
        roots::parse(self.result(key)?)
    }

    fn result(&self, key: &str) -> Result<&str, Error> {
        match self.outcomes.get(key) {
            Some(Ok(result)) => Ok(result),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::Internal(format!("no request has the key `{key}`"))),
        }
    }
}

impl Call {
    /// Sends several requests at once. Each has its own outcome, so that one failure does not spoil the others.
    ///
    /// ```
    /// use plugport_sdk::prelude::*;
    ///
    /// # let call = plugport_sdk::testing::TestClient::new().samples("Hi!").has_roots([("file:///a", None)]).call();
    /// let results = call.request_inputs(InputBatch::new().sample("greeting", "Greet me.").roots("folders"))?;
    /// assert_eq!(results.sampled("greeting")?.text(), "Hi!");
    /// assert_eq!(results.roots("folders")?[0].uri, "file:///a");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Internal` when a type cannot be a form, and the host's error when it sends none of the requests.
    pub fn request_inputs(&self, batch: InputBatch) -> Result<InputResults, Error> {
        let mut requests = Vec::new();
        for (key, request) in batch.requests {
            requests.push((key, request?));
        }
        Ok(InputResults { outcomes: send(self.backend(), requests)?.into_iter().collect() })
    }
}

/// The key of a request, and its outcome.
pub(crate) type KeyedOutcome = (String, Result<String, Error>);

/// Sends requests, each with its key, and returns the outcome of each.
pub(crate) fn send(
    call: &CallBackend,
    requests: Vec<(String, ClientRequest)>,
) -> Result<Vec<KeyedOutcome>, Error> {
    match call {
        CallBackend::Host(handle) => {
            let requests: Vec<_> = requests.into_iter().map(input_request).collect();
            let responses = wit::request_inputs(handle, &requests)?;
            Ok(responses.into_iter().map(|response| (response.key, response.outcome)).collect())
        }
        CallBackend::Test(client) => {
            Ok(requests.into_iter().map(|request| scripted(client.as_ref(), request)).collect())
        }
    }
}

fn input_request((key, request): (String, ClientRequest)) -> wit::InputRequest {
    let body = match request {
        ClientRequest::CreateMessage(params) => wit::Body::CreateMessage(params),
        ClientRequest::Elicit(params) => wit::Body::Elicit(params),
        ClientRequest::ListRoots => wit::Body::ListRoots,
    };
    wit::InputRequest { key, body }
}

fn scripted(client: &dyn ScriptedClient, (key, request): (String, ClientRequest)) -> KeyedOutcome {
    let outcome = client.respond(Some(&key), &request);
    (key, outcome)
}
