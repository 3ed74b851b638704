//! The interface `elicitation`: asks the person at the client.
//!
//! A person may always refuse, so every outcome is an [`ElicitResult`] and refusing is no error; who cannot go on
//! without an answer says [`ElicitResult::accepted`].

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::bindings::elicitation as wit;
use crate::client_requests::{self, ClientRequest, KeyedCall, RequestTarget};
use crate::{Call, Error};

mod form;

/// What a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElicitResult<T> {
    /// The form as they filled it in.
    Accepted(T),
    /// They said no.
    Declined,
    /// They went away without an answer.
    Cancelled,
}

impl<T> ElicitResult<T> {
    /// What they filled in, for those who cannot go on without it.
    ///
    /// # Errors
    /// `Rejected` when they declined or went away.
    pub fn accepted(self) -> Result<T, Error> {
        match self {
            Self::Accepted(value) => Ok(value),
            Self::Declined => Err(Error::Rejected("the person declined to answer".to_owned())),
            Self::Cancelled => Err(Error::Rejected("the person closed the question".to_owned())),
        }
    }

    /// What they filled in, if they did.
    pub fn ok(self) -> Option<T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

impl Call {
    /// Shows a form to the person at the client. The fields of `T` are those of the form.
    ///
    /// A field is a text, a number, a `bool`, an enum whose variants have no fields, a `Vec` of such an enum, or an
    /// `Option` of any of these. Its doc comment is shown beside it. A default comes from `#[serde(default)]`, and
    /// limits from `#[schemars(range(..), length(..), email, url)]`.
    ///
    /// ```
    /// use plugport_sdk::prelude::*;
    /// use plugport_sdk::{schemars::JsonSchema, serde::Deserialize, serde_json::json, testing::TestClient};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// #[serde(crate = "plugport_sdk::serde")]
    /// #[schemars(crate = "plugport_sdk::schemars")]
    /// struct Address {
    ///     /// Where to send it.
    ///     #[schemars(email)]
    ///     email: String,
    /// }
    ///
    /// # let call = TestClient::new().accepts(json!({"email": "ann@example.com"})).call();
    /// let address = call.elicit::<Address>("May I have your address?")?.accepted()?;
    /// assert_eq!(address.email, "ann@example.com");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `MissingCapability` when the client has nobody to ask, `Denied` when the plugin may not ask, `Internal` when `T`
    /// is no form.
    pub fn elicit<T: DeserializeOwned + JsonSchema>(
        &self,
        message: impl Into<String>,
    ) -> Result<ElicitResult<T>, Error> {
        ask(self, None, typed::<T>(message.into())?)
    }

    /// The same with a JSON Schema of your own, for forms that no Rust type describes.
    ///
    /// # Errors
    /// Those of [`elicit`](Self::elicit).
    pub fn elicit_form(
        &self,
        message: impl Into<String>,
        schema: Value,
    ) -> Result<ElicitResult<Map<String, Value>>, Error> {
        ask(self, None, form(message.into(), schema))
    }

    /// Sends the person to a web page: to log in, to pay, to type what no client should see. That they accepted means
    /// that they went there, not that they are done.
    ///
    /// # Errors
    /// Those of [`elicit`](Self::elicit); a client may show forms and yet no pages.
    pub fn elicit_url(
        &self,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<ElicitResult<()>, Error> {
        visit(self, None, page(message.into(), url.into()))
    }
}

impl KeyedCall<'_> {
    /// As [`Call::elicit`].
    ///
    /// # Errors
    /// Those of [`Call::elicit`].
    pub fn elicit<T: DeserializeOwned + JsonSchema>(
        self,
        message: impl Into<String>,
    ) -> Result<ElicitResult<T>, Error> {
        ask(self.call, Some(self.key), typed::<T>(message.into())?)
    }

    /// As [`Call::elicit_form`].
    ///
    /// # Errors
    /// Those of [`Call::elicit`].
    pub fn elicit_form(
        self,
        message: impl Into<String>,
        schema: Value,
    ) -> Result<ElicitResult<Map<String, Value>>, Error> {
        ask(self.call, Some(self.key), form(message.into(), schema))
    }

    /// As [`Call::elicit_url`].
    ///
    /// # Errors
    /// Those of [`Call::elicit`].
    pub fn elicit_url(
        self,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<ElicitResult<()>, Error> {
        visit(self.call, Some(self.key), page(message.into(), url.into()))
    }
}

/// The parameters of `elicitation/create` for a form that has the fields of a type.
pub(crate) fn typed<T: JsonSchema>(message: String) -> Result<Value, Error> {
    Ok(form(message, form::of::<T>()?))
}

/// The same for a schema.
pub(crate) fn form(message: String, schema: Value) -> Value {
    json!({"mode": "form", "message": message, "requestedSchema": schema})
}

/// The same for a web page.
pub(crate) fn page(message: String, url: String) -> Value {
    json!({"mode": "url", "message": message, "url": url})
}

fn ask<T: DeserializeOwned>(call: &Call, key: Option<&str>, params: Value) -> Result<ElicitResult<T>, Error> {
    parse(&send(call, key, params)?)
}

fn visit(call: &Call, key: Option<&str>, params: Value) -> Result<ElicitResult<()>, Error> {
    parse_visit(&send(call, key, params)?)
}

fn send(call: &Call, key: Option<&str>, params: Value) -> Result<String, Error> {
    let params = params.to_string();
    match call.request_target() {
        RequestTarget::Host(handle) => wit::elicit(handle, key, &params),
        RequestTarget::Test(client) => client.respond(key, &ClientRequest::Elicit(params)),
    }
}

#[derive(Deserialize)]
struct Answer {
    action: Action,
    content: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Accept,
    Decline,
    Cancel,
}

/// The form in the result of `elicitation/create`.
pub(crate) fn parse<T: DeserializeOwned>(answer: &str) -> Result<ElicitResult<T>, Error> {
    let answer: Answer = client_requests::read(answer)?;
    match answer.action {
        Action::Accept => {
            let value = serde_json::from_value(Value::Object(answer.content.unwrap_or_default()));
            value.map(ElicitResult::Accepted).map_err(|error| {
                Error::InvalidParams(format!("the client's answer does not fit the form: {error}"))
            })
        }
        Action::Decline => Ok(ElicitResult::Declined),
        Action::Cancel => Ok(ElicitResult::Cancelled),
    }
}

/// What became of a web page, of which there is nothing to read.
pub(crate) fn parse_visit(answer: &str) -> Result<ElicitResult<()>, Error> {
    let answered: ElicitResult<Map<String, Value>> = parse(answer)?;
    Ok(match answered {
        ElicitResult::Accepted(_) => ElicitResult::Accepted(()),
        ElicitResult::Declined => ElicitResult::Declined,
        ElicitResult::Cancelled => ElicitResult::Cancelled,
    })
}
