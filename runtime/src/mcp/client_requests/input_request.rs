//! A client request as the client's revision words it, and the check of its response.
//!
//! Guests write the newest form. What an older client lacks is reworded where something equal exists, and is a typed
//! failure for the guest where nothing does; the author never learns which revision it was.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::revision::Revision;
use super::client_capabilities::ClientCapabilities;
use super::elicitation_form;
use super::legacy_form;
use super::sampling_params;
use crate::host::{ClientRequest, ClientRequestBody, ClientRequestError};

/// A client request ready to be sent.
#[derive(Debug)]
pub(crate) struct InputRequest {
    pub(crate) key: String,
    pub(crate) method: &'static str,
    /// Written once, where that may take a while; it is sent as it is.
    pub(crate) params: Box<RawValue>,
    expects: ExpectedResult,
}

#[derive(Debug)]
enum ExpectedResult {
    /// A model's message; whether it was told of tools.
    Message {
        tools: bool,
    },
    /// An answer to a form.
    Form(Value),
    /// An answer to a form that was simplified for an older client.
    LegacyForm(Value),
    /// An answer to an address.
    Url,
    Roots,
}

/// Writes a client request for the revision of its client, or says why the client cannot be asked. `number` names it
/// when the guest did not.
pub(crate) fn prepare(
    request: ClientRequest,
    number: usize,
    revision: Revision,
    capabilities: ClientCapabilities,
) -> Result<InputRequest, ClientRequestError> {
    let key = request.key.unwrap_or_else(|| format!("question-{number}"));
    let (method, (params, expects)) = match request.body {
        ClientRequestBody::CreateMessage(params) => {
            let params = sampling_params::prepare(object(&params)?, revision, capabilities)?;
            let tools = params.get("tools").is_some();
            ("sampling/createMessage", (params, ExpectedResult::Message { tools }))
        }
        ClientRequestBody::Elicit(params) => {
            ("elicitation/create", elicit(object(&params)?, revision, capabilities)?)
        }
        ClientRequestBody::ListRoots if capabilities.roots => {
            ("roots/list", (json!({}), ExpectedResult::Roots))
        }
        ClientRequestBody::ListRoots => return Err(ClientRequestError::Missing("roots")),
    };
    let params = serde_json::value::to_raw_value(&params);
    let params = params.map_err(|error| ClientRequestError::Invalid(error.to_string()))?;
    Ok(InputRequest { key, method, params, expects })
}

impl InputRequest {
    /// The capability that the client must have declared.
    pub(crate) fn capability(&self) -> &'static str {
        match self.expects {
            ExpectedResult::Message { .. } => "sampling",
            ExpectedResult::Form(_) | ExpectedResult::LegacyForm(_) => "elicitation",
            ExpectedResult::Url => "elicitation.url",
            ExpectedResult::Roots => "roots",
        }
    }

    /// Checks an answer before a guest sees it; gives back its text.
    ///
    /// # Errors
    /// With what is wrong with it.
    pub(crate) fn read(&self, answer: &RawValue) -> Result<String, String> {
        let value: Value = serde_json::from_str(answer.get()).map_err(|error| error.to_string())?;
        let fields = value.as_object().ok_or("the answer must be an object")?;
        match &self.expects {
            ExpectedResult::Message { tools } => sampling_params::check_answer(fields, *tools)?,
            ExpectedResult::Form(schema) => check_elicited(fields, Some(schema))?,
            ExpectedResult::LegacyForm(schema) => {
                let mut fields = fields.clone();
                if let Some(Value::Object(content)) = fields.remove("content") {
                    fields.insert("content".to_owned(), legacy_form::restore(schema, content).into());
                }
                check_elicited(&fields, Some(schema))?;
                return Ok(Value::Object(fields).to_string());
            }
            ExpectedResult::Url => check_elicited(fields, None)?,
            ExpectedResult::Roots => check_roots(fields)?,
        }
        Ok(answer.get().to_owned())
    }
}

fn object(params: &str) -> Result<Map<String, Value>, ClientRequestError> {
    let invalid = |error: serde_json::Error| {
        ClientRequestError::Invalid(format!("the client request is not a JSON object: {error}"))
    };
    // What breaks common parsers is rejected here, where the guest gets the error, and not by the client.
    crate::json::RawObject::parse(params).map_err(invalid)?;
    serde_json::from_str(params).map_err(invalid)
}

fn elicit(
    mut params: Map<String, Value>,
    revision: Revision,
    capabilities: ClientCapabilities,
) -> Result<(Value, ExpectedResult), ClientRequestError> {
    let invalid = |why: &str| ClientRequestError::Invalid(why.to_owned());
    if !params.get("message").is_some_and(Value::is_string) {
        return Err(invalid("`message` must be a text"));
    }
    params.remove("elicitationId");
    match params.get("mode").map_or(Some("form"), Value::as_str) {
        Some("form") => {
            let schema =
                params.get("requestedSchema").ok_or_else(|| invalid("`requestedSchema` is missing"))?;
            elicitation_form::check(schema).map_err(ClientRequestError::Invalid)?;
            let asked = schema.clone();
            if !capabilities.elicitation_form {
                return Err(ClientRequestError::Missing("elicitation"));
            }
            if !revision.has_rich_forms() {
                params.remove("mode");
                params.insert("requestedSchema".to_owned(), legacy_form::downgrade(&asked));
                return Ok((params.into(), ExpectedResult::LegacyForm(asked)));
            }
            Ok((params.into(), ExpectedResult::Form(asked)))
        }
        Some("url") => {
            let url = params.get("url").and_then(Value::as_str).unwrap_or_default();
            if !(url.starts_with("https://") || url.starts_with("http://")) {
                return Err(invalid("`url` must be an address with http or https"));
            }
            if !capabilities.elicitation_url {
                return Err(ClientRequestError::Missing("elicitation.url"));
            }
            if revision.has_elicitation_id() {
                let id = super::super::tokens::token()
                    .ok_or_else(|| invalid("no randomness for an identifier"))?;
                params.insert("elicitationId".to_owned(), id.into());
            }
            Ok((params.into(), ExpectedResult::Url))
        }
        _ => Err(invalid("`mode` must be `form` or `url`")),
    }
}

fn check_elicited(answer: &Map<String, Value>, schema: Option<&Value>) -> Result<(), String> {
    match answer.get("action").and_then(Value::as_str) {
        Some("decline" | "cancel") => Ok(()),
        Some("accept") => {
            let Some(schema) = schema else { return Ok(()) };
            let content = answer.get("content").and_then(Value::as_object);
            elicitation_form::fits(schema, content.ok_or("`content` is missing")?)
        }
        _ => Err("`action` must be `accept`, `decline` or `cancel`".to_owned()),
    }
}

fn check_roots(answer: &Map<String, Value>) -> Result<(), String> {
    let roots = answer.get("roots").and_then(Value::as_array).ok_or("`roots` must be a list")?;
    let named = |root: &Value| root.get("name").is_none_or(Value::is_string);
    let file = |uri: &Value| uri.as_str().is_some_and(|uri| uri.starts_with("file://"));
    if roots.iter().all(|root| root.get("uri").is_some_and(file) && named(root)) {
        return Ok(());
    }
    Err("a root has a `uri` that begins with file:// and a `name` that is a text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(params: &Value, revision: Revision) -> Result<InputRequest, ClientRequestError> {
        let body = ClientRequestBody::Elicit(params.to_string());
        prepare(ClientRequest { key: None, body }, 3, revision, ClientCapabilities::ALL)
    }

    fn form() -> Value {
        json!({"mode": "form", "message": "Who?", "requestedSchema":
            {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}})
    }

    fn params(params: &Value, revision: Revision) -> Value {
        serde_json::from_str(ask(params, revision).unwrap().params.get()).unwrap()
    }

    fn read(prepared: &InputRequest, answer: &Value) -> Result<String, String> {
        prepared.read(&RawValue::from_string(answer.to_string()).unwrap())
    }

    #[test]
    fn a_question_is_worded_for_the_revision() {
        let newest = ask(&form(), Revision::V2026_07_28).unwrap();
        assert_eq!((newest.key.as_str(), newest.method), ("question-3", "elicitation/create"));
        assert_eq!(params(&form(), Revision::V2026_07_28)["mode"], "form");
        assert_eq!(params(&form(), Revision::V2025_06_18).get("mode"), None);
        let visit =
            json!({"mode": "url", "message": "Log in", "url": "https://a.example", "elicitationId": "mine"});
        assert_eq!(params(&visit, Revision::V2026_07_28).get("elicitationId"), None);
        let id = params(&visit, Revision::V2025_11_25)["elicitationId"].clone();
        assert!(id.is_string() && id != "mine");
    }

    #[test]
    fn what_a_client_cannot_do_is_not_asked() {
        let none = ClientCapabilities::default();
        let missing = |body| {
            let request = ClientRequest { key: None, body };
            prepare(request, 1, Revision::V2026_07_28, none).unwrap_err()
        };
        assert_eq!(missing(ClientRequestBody::ListRoots), ClientRequestError::Missing("roots"));
        assert_eq!(
            missing(ClientRequestBody::Elicit(form().to_string())),
            ClientRequestError::Missing("elicitation")
        );
        let visit = json!({"mode": "url", "message": "Log in", "url": "https://a.example"}).to_string();
        assert_eq!(missing(ClientRequestBody::Elicit(visit)), ClientRequestError::Missing("elicitation.url"));
        assert!(matches!(
            ask(&json!({"message": 5}), Revision::V2026_07_28),
            Err(ClientRequestError::Invalid(_))
        ));
    }

    #[test]
    fn answers_are_checked_before_a_guest_sees_them() {
        let form = ask(&form(), Revision::V2026_07_28).unwrap();
        assert!(read(&form, &json!({"action": "accept", "content": {"name": "Ada"}})).is_ok());
        assert!(read(&form, &json!({"action": "decline"})).is_ok());
        for bad in [
            json!(12345),
            json!({"action": "perhaps"}),
            json!({"action": "accept"}),
            json!({"action": "accept", "content": {"name": 1}}),
            json!({"action": "accept", "content": {}}),
        ] {
            assert!(read(&form, &bad).is_err(), "{bad}");
        }
        let roots = ClientRequest { key: Some("r".into()), body: ClientRequestBody::ListRoots };
        let roots = prepare(roots, 1, Revision::V2025_11_25, ClientCapabilities::ALL).unwrap();
        assert!(read(&roots, &json!({"roots": [{"uri": "file:///a", "name": "A"}]})).is_ok());
        assert!(read(&roots, &json!({"roots": [{"name": "A"}]})).is_err());
    }
}
