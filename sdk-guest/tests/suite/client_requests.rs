//! What a tool asks its client, with a script in the client's place.

use plugport_sdk::elicitation::ElicitResult;
use plugport_sdk::prelude::*;
use plugport_sdk::sampling::{Block, Message, SamplingTool, ToolChoice};
use plugport_sdk::schemars::JsonSchema;
use plugport_sdk::serde::Deserialize;
use plugport_sdk::serde_json::{Value, json};
use plugport_sdk::testing::{self, TestClient};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(crate = "plugport_sdk::serde")]
#[schemars(crate = "plugport_sdk::schemars")]
struct Name {
    name: String,
    age: Option<u8>,
}

#[data]
struct Machine {
    address: std::net::IpAddr,
}

/// Ask the person.
#[tool]
fn greet(call: &Call) -> Result<String, Error> {
    let name = call.keyed("user_name").elicit::<Name>("Who are you?")?.accepted()?;
    Ok(format!("Hello, {}!", name.name))
}

/// Ask the model.
#[tool]
fn think(call: &Call, about: String) -> Result<String, Error> {
    Ok(call.sample(about)?.text())
}

/// Add.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Let the model add.
#[tool]
fn delegate(call: &Call) -> Result<String, Error> {
    let client_request = CreateMessageRequest::new()
        .text("1 + 2?")
        .tool(SamplingTool::of::<add>()?)
        .tool_choice(ToolChoice::Required);
    let wish = call.sample(client_request.clone())?;
    let results = wish.tool_uses().map(|wanted| Block::tool_result(wanted, "3")).collect();
    let said = Message::from(wish.clone());
    let answers = Message { role: plugport_sdk::Role::User, content: results };
    Ok(call.sample(client_request.message(said).message(answers))?.text())
}

/// Ask everything at once.
#[tool]
fn survey(call: &Call) -> Result<String, Error> {
    let batch = InputBatch::new()
        .sample("greeting", CreateMessageRequest::new().text("Greet.").max_tokens(50))
        .elicit::<Name>("user_name", "Who?")
        .elicit_url("login", "Log in", "https://example.com/login")
        .roots("client_roots");
    let answers = call.request_inputs(batch)?;
    let name = answers.elicited::<Name>("user_name")?.accepted()?.name;
    answers.visited("login")?.accepted()?;
    Ok(format!("{} {name}, {}", answers.sampled("greeting")?.text(), answers.roots("client_roots")?.len()))
}

#[test]
fn a_form_is_made_of_a_type_and_read_back() {
    let client = TestClient::new().accepts(json!({"name": "Ann"}));
    assert_eq!(client.invoke::<greet>(json!({})).text(), "Hello, Ann!");
    let asked = client.requests();
    assert_eq!((asked[0].key.as_deref(), asked[0].method), (Some("user_name"), "elicitation/create"));
    assert_eq!(asked[0].params["mode"], "form");
    assert_eq!(asked[0].params["message"], "Who are you?");
    assert_eq!(
        asked[0].params["requestedSchema"],
        json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 255}},
            "required": ["name"]
        })
    );
}

#[test]
fn a_person_may_refuse_or_answer_amiss() {
    let rejected = |client: TestClient| {
        let outcome = client.invoke::<greet>(json!({}));
        outcome.result().unwrap_err().clone()
    };
    assert!(matches!(rejected(TestClient::new().declines()), Error::Rejected(_)));
    assert!(matches!(rejected(TestClient::new().closes()), Error::Rejected(_)));
    assert!(matches!(rejected(TestClient::new().elicits_with(Ok(json!({})))), Error::Internal(_)));
    let amiss = TestClient::new().accepts(json!({"address": "nowhere"})).call();
    assert!(matches!(amiss.elicit::<Machine>("?"), Err(Error::InvalidParams(_))));
    let call = TestClient::new().declines().closes().call();
    assert_eq!(call.elicit::<Name>("?"), Ok(ElicitResult::Declined));
    assert_eq!(call.elicit::<Name>("?").unwrap().ok(), None);
}

#[test]
fn forms_and_pages_of_the_authors_own_go_out_as_they_are() {
    let client = TestClient::new().accepts(json!({"x": "b"})).visits();
    let call = client.call();
    let schema = json!({"type": "object", "properties": {"x": {"type": "string", "enumNames": ["a"]}}});
    let answer = call.elicit_form("m", schema.clone()).unwrap().accepted().unwrap();
    assert_eq!(Value::Object(answer), json!({"x": "b"}));
    assert_eq!(call.elicit_url("m", "https://example.com"), Ok(ElicitResult::Accepted(())));
    assert_eq!(client.requests()[0].params["requestedSchema"], schema);
    let page = json!({"mode": "url", "message": "m", "url": "https://example.com"});
    assert_eq!(client.requests()[1].params, page);
}

#[test]
fn the_clients_own_error_reaches_the_tool_and_may_be_handed_on() {
    let lacking = testing::invoke::<think>(json!({"about": "x"}));
    assert_eq!(lacking.result(), Err(&Error::MissingCapability("sampling".to_owned())));
    assert_eq!(lacking.text(), "the client lacks the capability `sampling`");
    let budget = Error::OverBudget("100 tokens an hour".to_owned());
    let client = TestClient::new().samples_with(Err(budget.clone()));
    assert_eq!(client.invoke::<think>(json!({"about": "x"})).result(), Err(&budget));
    assert_eq!(testing::call().roots(), Err(Error::MissingCapability("roots".to_owned())));
}

#[test]
fn the_model_may_ask_for_a_tool_and_gets_its_result() {
    let wish = json!({"type": "tool_use", "id": "1", "name": "add", "input": {"a": 1, "b": 2}});
    let wish = json!({"role": "assistant", "content": [wish], "model": "m", "stopReason": "toolUse"});
    let client = TestClient::new().samples_with(Ok(wish.clone())).samples("It is 3.");
    assert_eq!(client.invoke::<delegate>(json!({})).text(), "It is 3.");
    let asked = client.requests();
    assert_eq!(asked[0].params["tools"][0]["inputSchema"]["required"], json!(["a", "b"]));
    assert_eq!(asked[0].params["toolChoice"], json!({"mode": "required"}));
    assert_eq!(asked[1].params["messages"][1]["content"], wish["content"][0]);
    assert_eq!(asked[1].params["messages"][2]["content"]["toolUseId"], "1");
}

#[test]
fn requests_have_results_under_their_keys() {
    let client = TestClient::new()
        .samples("Hi")
        .accepts(json!({"name": "Bob", "age": 3}))
        .visits()
        .has_roots([("file:///a", Some("a")), ("file:///b", None)]);
    assert_eq!(client.invoke::<survey>(json!({})).text(), "Hi Bob, 2");
    let keys: Vec<_> = client.requests().into_iter().map(|request| request.key.unwrap()).collect();
    assert_eq!(keys, ["greeting", "user_name", "login", "client_roots"]);
}

#[test]
fn one_failure_leaves_the_other_results() {
    let call = TestClient::new().samples("Hi").call();
    let answers = call.request_inputs(InputBatch::new().sample("a", "?").roots("b")).unwrap();
    assert_eq!(answers.sampled("a").unwrap().text(), "Hi");
    assert_eq!(answers.roots("b"), Err(Error::MissingCapability("roots".to_owned())));
    assert_eq!(answers.roots("c"), Err(Error::Internal("no request has the key `c`".to_owned())));
    let nothing = call.request_inputs(InputBatch::new().elicit::<Vec<u8>>("a", "?"));
    assert!(nothing.unwrap_err().to_string().contains("form"));
}

/// Say what changed.
#[tool]
fn announce() {
    plugport_sdk::notify::tools_changed();
    plugport_sdk::notify::resource_updated("a:b");
}

#[test]
fn changes_are_told() {
    testing::invoke::<announce>(json!({}));
    use plugport_sdk::notify::Change;
    assert_eq!(testing::changes(), [Change::Tools, Change::Resource("a:b".to_owned())]);
    assert_eq!(testing::changes(), []);
}
