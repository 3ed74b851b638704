//! What sends client requests, under the keys that the suite looks for.

use plugport_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Color {
    color: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    ok: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Context {
    context: String,
}

/// Ask the client's model.
#[tool]
pub fn test_sampling(
    call: &Call,
    /// What to ask it.
    prompt: String,
) -> Result<String, Error> {
    let answer = call.sample(CreateMessageRequest::from(prompt).max_tokens(100))?;
    Ok(format!("LLM response: {}", answer.text()))
}

/// Ask the client's user for a name and an address.
#[tool]
pub fn test_elicitation(
    call: &Call,
    /// What to show them.
    message: String,
) -> Result<String, Error> {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"}
        },
        "required": ["username", "email"]
    });
    Ok(format!("User response: {}", told(call.elicit_form(message, schema)?)))
}

/// Ask with a form whose fields are filled in already.
#[tool]
pub fn test_elicitation_sep1034_defaults(call: &Call) -> Result<String, Error> {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {
                "type": "string",
                "description": "User status",
                "enum": ["active", "inactive", "pending"],
                "default": "active"
            },
            "verified": {"type": "boolean", "description": "Verification status", "default": true}
        },
        "required": []
    });
    let answer = call.elicit_form("Please review and update the form fields with defaults", schema)?;
    Ok(format!("Elicitation completed: {}", told(answer)))
}

/// Ask with a form that has every kind of choice.
#[tool]
pub fn test_elicitation_sep1330_enums(call: &Call) -> Result<String, Error> {
    let options = json!(["option1", "option2", "option3"]);
    let titled = |titles: [&str; 3]| -> Value {
        let values = ["value1", "value2", "value3"].into_iter().zip(titles);
        values.map(|(value, title)| json!({"const": value, "title": title})).collect()
    };
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {"type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"])},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {
                "type": "array",
                "items": {"anyOf": titled(["First Choice", "Second Choice", "Third Choice"])}
            }
        },
        "required": []
    });
    let answer = call.elicit_form("Please select options from the enum fields", schema)?;
    Ok(format!("Elicitation completed: {}", told(answer)))
}

/// Need the client's model, whether there is one or not.
#[tool]
pub fn test_missing_capability(call: &Call) -> Result<String, Error> {
    Ok(call.sample("Are you there?")?.text())
}

/// Ask the client's user while the answer is being streamed.
#[tool]
pub fn test_streaming_elicitation(call: &Call) -> Result<String, Error> {
    call.progress(1.0, 2.0, "asking");
    let name = call.keyed("user_name").elicit::<Name>("What is your name?")?.accepted()?.name;
    Ok(format!("Hello, {name}!"))
}

/// Ask for a name and greet.
#[tool]
pub fn test_input_required_result_elicitation(call: &Call) -> Result<String, Error> {
    let name = call.keyed("user_name").elicit::<Name>("What is your name?")?.accepted()?.name;
    Ok(format!("Hello, {name}!"))
}

/// Ask the client's model for a capital.
#[tool]
pub fn test_input_required_result_sampling(call: &Call) -> Result<String, Error> {
    let client_request =
        CreateMessageRequest::new().key("capital_question").text("What is the capital of France?");
    Ok(call.sample(client_request.max_tokens(100))?.text())
}

/// Ask for the client's roots.
#[tool]
pub fn test_input_required_result_list_roots(call: &Call) -> Result<String, Error> {
    let roots = call.keyed("client_roots").roots()?;
    let uris: Vec<_> = roots.iter().map(|root| root.uri.as_str()).collect();
    Ok(format!("Roots: {}", uris.join(", ")))
}

/// Ask for a confirmation. The state that comes back with it is the host's to check.
#[tool]
pub fn test_input_required_result_request_state(call: &Call) -> Result<String, Error> {
    confirm(call)
}

/// Ask for a confirmation, for a client that tampers with the state.
#[tool]
pub fn test_input_required_result_tampered_state(call: &Call) -> Result<String, Error> {
    confirm(call)
}

fn confirm(call: &Call) -> Result<String, Error> {
    let confirmed = call.keyed("confirm").elicit::<Confirmation>("Please confirm")?.accepted()?;
    Ok(format!("state-ok, confirmed: {}", confirmed.ok))
}

/// Ask three questions at once.
#[tool]
pub fn test_input_required_result_multiple_inputs(call: &Call) -> Result<String, Error> {
    let batch = InputBatch::new()
        .elicit::<Name>("user_name", "What is your name?")
        .sample("greeting", CreateMessageRequest::new().text("Generate a greeting").max_tokens(50))
        .roots("client_roots");
    let answers = call.request_inputs(batch)?;
    let name = answers.elicited::<Name>("user_name")?.accepted()?.name;
    let greeting = answers.sampled("greeting")?.text();
    let roots = answers.roots("client_roots")?.len();
    Ok(format!("{greeting} {name} has {roots} roots."))
}

/// Ask twice, one after the other.
#[tool]
pub fn test_input_required_result_multi_round(call: &Call) -> Result<String, Error> {
    let name = call.keyed("step1").elicit::<Name>("Step 1: What is your name?")?.accepted()?.name;
    let color =
        call.keyed("step2").elicit::<Color>("Step 2: What is your favorite color?")?.accepted()?.color;
    Ok(format!("{name} likes {color}."))
}

/// Ask only what the client can be asked.
#[tool]
pub fn test_input_required_result_capabilities(call: &Call) -> Result<String, Error> {
    let client = call.client();
    let mut batch = InputBatch::new();
    if client.sampling {
        let client_request =
            CreateMessageRequest::new().text("What is the capital of France?").max_tokens(100);
        batch = batch.sample("capital_question", client_request);
    }
    if client.elicitation {
        batch = batch.elicit::<Name>("user_name", "What is your name?");
    }
    if client.roots {
        batch = batch.roots("client_roots");
    }
    if !(client.sampling || client.elicitation || client.roots) {
        return Ok("This client cannot be asked anything.".to_owned());
    }
    let answers = call.request_inputs(batch)?;
    let mut said = Vec::new();
    if client.sampling {
        said.push(answers.sampled("capital_question")?.text());
    }
    if client.elicitation {
        said.push(answers.elicited::<Name>("user_name")?.accepted()?.name);
    }
    if client.roots {
        said.extend(answers.roots("client_roots")?.into_iter().map(|root| root.uri));
    }
    Ok(said.join(", "))
}

/// A prompt that asks before it is made.
#[prompt]
pub fn test_input_required_result_prompt(call: &Call) -> Result<String, Error> {
    let message = "What context should the prompt use?";
    let given = call.keyed("user_context").elicit::<Context>(message)?.accepted()?;
    Ok(format!("Use this context: {}", given.context))
}

/// What was answered, in the words of MCP.
fn told(answer: ElicitResult<Map<String, Value>>) -> String {
    let (action, content) = match answer {
        ElicitResult::Accepted(content) => ("accept", content),
        ElicitResult::Declined => ("decline", Map::new()),
        ElicitResult::Cancelled => ("cancel", Map::new()),
    };
    format!("action={action}, content={}", Value::Object(content))
}
