//! The interface `elicitation`: asks the person at the client.
//!
//! A person may always decline, so every outcome is an [`ElicitResult`] and declining is no error. A tool that needs
//! the form calls [`ElicitResult::accepted`].

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::bindings::elicitation as wit;
use crate::call::CallBackend;
use crate::client_requests::{self, ClientRequest, KeyedCall};
use crate::{Call, Error};

mod form;

/// The outcome of a form or a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElicitResult<T> {
    /// The form as the person filled it in.
    Accepted(T),
    /// The person declined.
    Declined,
    /// The person closed the form or page.
    Cancelled,
}

impl<T> ElicitResult<T> {
    /// The form, or an error for a tool that needs it.
    ///
    /// # Errors
    /// `Rejected` when the person declined, or closed the form or page.
    pub fn accepted(self) -> Result<T, Error> {
        match self {
            Self::Accepted(value) => Ok(value),
            Self::Declined => Err(Error::Rejected("the person declined to answer".to_owned())),
            Self::Cancelled => Err(Error::Rejected("the person closed the question".to_owned())),
        }
    }

    /// The form, if the person accepted.
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
    /// `MissingCapability` when the client does not support elicitation, `Denied` when the plugin has no grant,
    /// `Internal` when `T` cannot be a form.
    pub fn elicit<T: DeserializeOwned + JsonSchema>(
        &self,
        message: impl Into<String>,
    ) -> Result<ElicitResult<T>, Error> {
        send_form(self, None, typed::<T>(message.into())?)
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
        send_form(self, None, form(message.into(), schema))
    }

    /// Sends the person to a web page: to log in, to pay, to type what no client should see. `Accepted` means that the
    /// person went there, not that the person is done.
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
        send_form(self.call, Some(self.key), typed::<T>(message.into())?)
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
        send_form(self.call, Some(self.key), form(message.into(), schema))
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

/// The parameters of `elicitation/create` for a form with this schema.
pub(crate) fn form(message: String, schema: Value) -> Value {
    json!({"mode": "form", "message": message, "requestedSchema": schema})
}

/// The parameters of `elicitation/create` for a web page.
pub(crate) fn page(message: String, url: String) -> Value {
    json!({"mode": "url", "message": message, "url": url})
}

fn send_form<T: DeserializeOwned>(
    call: &Call,
    key: Option<&str>,
    params: Value,
) -> Result<ElicitResult<T>, Error> {
    parse(&send(call, key, params)?)
}

fn visit(call: &Call, key: Option<&str>, params: Value) -> Result<ElicitResult<()>, Error> {
    parse_visit(&send(call, key, params)?)
}

fn send(call: &Call, key: Option<&str>, params: Value) -> Result<String, Error> {
    let params = params.to_string();
    match call.backend().as_ref() {
        CallBackend::Host(handle) => wit::elicit(handle, key, &params),
        CallBackend::Test(client) => client.respond(key, &ClientRequest::Elicit(params)),
    }
}

#[derive(Deserialize)]
struct ElicitResponse {
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
pub(crate) fn parse<T: DeserializeOwned>(result: &str) -> Result<ElicitResult<T>, Error> {
    let response: ElicitResponse = client_requests::read(result)?;
    match response.action {
        Action::Accept => {
            let value = serde_json::from_value(Value::Object(response.content.unwrap_or_default()));
            value.map(ElicitResult::Accepted).map_err(|error| {
                Error::InvalidParams(format!("the client's answer does not fit the form: {error}"))
            })
        }
        Action::Decline => Ok(ElicitResult::Declined),
        Action::Cancel => Ok(ElicitResult::Cancelled),
    }
}

/// The outcome of a web page, which has no content.
pub(crate) fn parse_visit(result: &str) -> Result<ElicitResult<()>, Error> {
    let outcome: ElicitResult<Map<String, Value>> = parse(result)?;
    Ok(match outcome {
        ElicitResult::Accepted(_) => ElicitResult::Accepted(()),
        ElicitResult::Declined => ElicitResult::Declined,
        ElicitResult::Cancelled => ElicitResult::Cancelled,
    })
}
