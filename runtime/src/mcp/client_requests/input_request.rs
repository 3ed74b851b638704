//! Adapts a client request to the client's revision, and checks the response.
//!
//! Guests write client requests in the form of the newest revision. For a client of an older revision, a request is
//! rewritten if that revision has an equivalent; otherwise the guest gets a typed error. So guests need not know the
//! revision.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::revision::Revision;
use super::client_capabilities::ClientCapabilities;
use super::elicitation_form;
use super::legacy_revision_form;
use super::sampling_params;
use crate::call_env::{ClientRequest, ClientRequestBody, ClientRequestError};

/// A client request ready to be sent.
#[derive(Debug)]
pub(crate) struct InputRequest {
    pub(crate) key: String,
    pub(crate) method: &'static str,
    /// Serialized only once, where large work is allowed.
    pub(crate) params: Box<RawValue>,
    expects: ExpectedResult,
}

#[derive(Debug)]
enum ExpectedResult {
    /// A message of a model. `tools` says whether the request had tools.
    Message {
        tools: bool,
    },
    /// The content of a form with this schema.
    Form(Value),
    /// The content of a form that was downgraded for an older revision. The schema is the original one.
    LegacyForm(Value),
    /// The action for a URL.
    Url,
    Roots,
}

/// Writes a client request for the client's revision. `number` becomes the key if the guest gave none.
///
/// # Errors
/// When the request is invalid, or the client lacks a capability that the request needs.
pub(crate) fn prepare(
    request: ClientRequest,
    number: usize,
    revision: Revision,
    capabilities: ClientCapabilities,
) -> Result<InputRequest, ClientRequestError> {
    let key = request.key.unwrap_or_else(|| format!("request-{number}"));
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

    /// Checks a result of the client, and returns its text for the guest.
    ///
    /// # Errors
    /// With the reason why the result is invalid.
    pub(crate) fn read(&self, result: &RawValue) -> Result<String, String> {
        let value = crate::json::value(result.get()).map_err(|error| error.to_string())?;
        let fields = value.as_object().ok_or("the result must be an object")?;
        match &self.expects {
            ExpectedResult::Message { tools } => sampling_params::check_result(fields, *tools)?,
            ExpectedResult::Form(schema) => check_elicited(fields, Some(schema))?,
            ExpectedResult::LegacyForm(schema) => {
                let mut fields = fields.clone();
                if let Some(Value::Object(content)) = fields.remove("content") {
                    fields
                        .insert("content".to_owned(), legacy_revision_form::restore(schema, content).into());
                }
                check_elicited(&fields, Some(schema))?;
                return Ok(Value::Object(fields).to_string());
            }
            ExpectedResult::Url => check_elicited(fields, None)?,
            ExpectedResult::Roots => check_roots(fields)?,
        }
        Ok(result.get().to_owned())
    }
}

fn object(params: &str) -> Result<Map<String, Value>, ClientRequestError> {
    let invalid = |error: serde_json::Error| {
        ClientRequestError::Invalid(format!("the client request is not a JSON object: {error}"))
    };
    // JSON that breaks common parsers is rejected here, so that the guest and not the client gets the error.
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
            let schema = schema.clone();
            if !capabilities.elicitation_form {
                return Err(ClientRequestError::Missing("elicitation"));
            }
            if !revision.has_rich_forms() {
                params.remove("mode");
                params.insert("requestedSchema".to_owned(), legacy_revision_form::downgrade(&schema));
                return Ok((params.into(), ExpectedResult::LegacyForm(schema)));
            }
            Ok((params.into(), ExpectedResult::Form(schema)))
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
                let id = super::super::random_tokens::token()
                    .ok_or_else(|| invalid("no randomness for an identifier"))?;
                params.insert("elicitationId".to_owned(), id.into());
            }
            Ok((params.into(), ExpectedResult::Url))
        }
        _ => Err(invalid("`mode` must be `form` or `url`")),
    }
}

fn check_elicited(result: &Map<String, Value>, schema: Option<&Value>) -> Result<(), String> {
    match result.get("action").and_then(Value::as_str) {
        Some("decline" | "cancel") => Ok(()),
        Some("accept") => {
            let Some(schema) = schema else { return Ok(()) };
            let content = result.get("content").and_then(Value::as_object);
            elicitation_form::fits(schema, content.ok_or("`content` is missing")?)
        }
        _ => Err("`action` must be `accept`, `decline` or `cancel`".to_owned()),
    }
}

fn check_roots(result: &Map<String, Value>) -> Result<(), String> {
    let roots = result.get("roots").and_then(Value::as_array).ok_or("`roots` must be a list")?;
    let has_valid_name = |root: &Value| root.get("name").is_none_or(Value::is_string);
    let is_file = |uri: &Value| uri.as_str().is_some_and(|uri| uri.starts_with("file://"));
    if roots.iter().all(|root| root.get("uri").is_some_and(is_file) && has_valid_name(root)) {
        return Ok(());
    }
    Err("a root has a `uri` that begins with file:// and a `name` that is a text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepare_form(params: &Value, revision: Revision) -> Result<InputRequest, ClientRequestError> {
        let body = ClientRequestBody::Elicit(params.to_string());
        prepare(ClientRequest { key: None, body }, 3, revision, ClientCapabilities::ALL)
    }

    fn form() -> Value {
        json!({"mode": "form", "message": "Who?", "requestedSchema":
            {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}})
    }

    fn params(params: &Value, revision: Revision) -> Value {
        serde_json::from_str(prepare_form(params, revision).unwrap().params.get()).unwrap()
    }

    fn read(input_request: &InputRequest, result: &Value) -> Result<String, String> {
        input_request.read(&RawValue::from_string(result.to_string()).unwrap())
    }

    #[test]
    fn a_client_request_is_worded_for_the_revision() {
        let newest = prepare_form(&form(), Revision::V2026_07_28).unwrap();
        assert_eq!((newest.key.as_str(), newest.method), ("request-3", "elicitation/create"));
        assert_eq!(params(&form(), Revision::V2026_07_28)["mode"], "form");
        assert_eq!(params(&form(), Revision::V2025_06_18).get("mode"), None);
        let elicit_url =
            json!({"mode": "url", "message": "Log in", "url": "https://a.example", "elicitationId": "mine"});
        assert_eq!(params(&elicit_url, Revision::V2026_07_28).get("elicitationId"), None);
        let id = params(&elicit_url, Revision::V2025_11_25)["elicitationId"].clone();
        assert!(id.is_string() && id != "mine");
    }

    #[test]
    fn a_client_request_needs_its_capability() {
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
        let elicit_url = json!({"mode": "url", "message": "Log in", "url": "https://a.example"}).to_string();
        assert_eq!(
            missing(ClientRequestBody::Elicit(elicit_url)),
            ClientRequestError::Missing("elicitation.url")
        );
        assert!(matches!(
            prepare_form(&json!({"message": 5}), Revision::V2026_07_28),
            Err(ClientRequestError::Invalid(_))
        ));
    }

    #[test]
    fn results_are_checked_before_a_guest_gets_them() {
        let form = prepare_form(&form(), Revision::V2026_07_28).unwrap();
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

    /// The test doubles of the SDKs have these cases in their tests too.
    #[test]
    fn content_is_checked_as_the_test_doubles_check_it() {
        let forms = include_str!("../../../../sdk-guest/tests/validation/forms.json");
        let forms: Value = serde_json::from_str(forms).unwrap();
        let params = json!({"message": "?", "requestedSchema": forms["form"]});
        let form = prepare_form(&params, Revision::V2026_07_28).unwrap();
        for case in forms["cases"].as_array().unwrap() {
            let mut result = case.clone();
            result["action"] = "accept".into();
            let fault = read(&form, &result).err();
            assert_eq!(fault.as_deref(), case.get("fault").and_then(Value::as_str), "{case}");
        }
    }
}
