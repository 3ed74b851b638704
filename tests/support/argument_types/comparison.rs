//! Calls the generated tools of a language with random arguments, and compares them with the model.
//!
//! What the server accepts and what it rejects is written to `target/argument-types/cases-LANGUAGE-SEED.jsonl`, a case
//! on each line. Test doubles validate too: the validation tests of each SDK read such a file, whose path is in
//! `PLUGPORT_VALIDATION_CASES`, and compare the double with the server.

use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::decode::{decode_object, integers_of, normal_object};
use super::json::Json;
use super::kind::ArgumentType;
use super::project;
use super::schema::{expected_schema, normal_schema};
use super::types::argument_types;
use super::values::random_arguments;
use crate::build::target;
use crate::generator::Random;
use crate::http_client::{Client, HttpResponse, STATELESS, stateless_meta};
use crate::reload::listed_tools;
use crate::server::Server;
use crate::toolchain::Lang;

/// Limits for a component of any language. Instances are reused, as thousands of calls would be slow without.
const CONFIG: &str = "\
[server]
initial_load_wait_ms = 120_000
[limits]
wasm_mib = 128
compile_ms = 600_000
compile_mib = 4096
memory_mib = 256
wall_ms = 60_000
[plugins.types]
instances = \"reuse\"
";

/// How an error begins with which the server rejects arguments before it calls a tool.
const REJECTED: &str = "the arguments do not fit the tool's schema: ";

/// How long a component may take to be compiled.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The types of one seed, and how often each tool is called.
#[derive(Debug, Clone, Copy)]
pub struct Comparison {
    pub seed: u64,
    pub types: usize,
    pub calls_of_each: usize,
}

/// Where a language does something else than the model.
#[derive(Debug)]
pub struct Difference {
    tool: String,
    given: String,
    expected: String,
    found: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, given, expected, found } = self;
        writeln!(f, "{tool} of {given}\n  must be {expected}\n  but is  {found}")
    }
}

impl Comparison {
    /// Compares a language; returns the number of calls and the differences. `None` when its toolchain is missing.
    pub async fn run(self, lang: Lang) -> Option<(usize, Vec<Difference>)> {
        let mut types = argument_types(self.seed, self.types);
        types.retain(|argument_type| argument_type.is_flat || lang != Lang::C);
        let built = types.clone();
        let component =
            tokio::task::spawn_blocking(move || project::component(lang, &built)).await.unwrap()?;
        let bytes = std::fs::read(component).unwrap();
        let server =
            Server::builder().file("types.wasm", &bytes).config(CONFIG).quickly_compiled().start().await;
        let client = Client::new(server.url());
        let tools = published_tools(&client, &server, types.len()).await;
        let mut differences: Vec<Difference> =
            types.iter().filter_map(|argument_type| schema_difference(argument_type, &tools)).collect();
        // The arguments depend on the type alone, so all languages get the same ones.
        let (mut calls, mut cases) = (0, String::new());
        for argument_type in &types {
            let schema = published_schema(argument_type, &tools).map(Value::to_string);
            let mut random = Random::new(self.seed ^ argument_type.object.number as u64);
            for _ in 0..self.calls_of_each {
                let made = make_call(lang, argument_type, &client, &mut random).await;
                if let Some(accepted) = made.accepted {
                    let case = json!({ "schema": schema, "args": made.given, "accepted": accepted });
                    cases.push_str(&format!("{case}\n"));
                }
                differences.extend(made.difference);
                calls += 1;
            }
        }
        let file = format!("cases-{}-{}.jsonl", lang.name(), self.seed);
        fs::write(target("argument-types").join(file), cases).unwrap();
        Some((calls, differences))
    }
}

/// What came of a call.
struct MadeCall {
    /// The arguments as they were written.
    given: String,
    /// Whether they fit the schema, if the answer tells.
    accepted: Option<bool>,
    difference: Option<Difference>,
}

/// The listed tools, as soon as all are there.
async fn published_tools(client: &Client, server: &Server, count: usize) -> Vec<Value> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let tools = listed_tools(client).await;
        if tools.len() >= count {
            return tools;
        }
        assert!(
            Instant::now() < deadline,
            "{} of {count} tools; the server said:\n{}",
            tools.len(),
            server.log()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn published_schema<'t>(argument_type: &ArgumentType, tools: &'t [Value]) -> Option<&'t Value> {
    let name = published_name(argument_type);
    tools.iter().find(|tool| tool["name"] == name).map(|tool| &tool["inputSchema"])
}

fn schema_difference(argument_type: &ArgumentType, tools: &[Value]) -> Option<Difference> {
    let found = published_schema(argument_type, tools).map_or(Value::Null, normal_schema);
    let expected = expected_schema(&argument_type.object);
    (found != expected).then(|| Difference {
        tool: published_name(argument_type),
        given: "its schema".to_owned(),
        expected: expected.to_string(),
        found: found.to_string(),
    })
}

async fn make_call(
    lang: Lang,
    argument_type: &ArgumentType,
    client: &Client,
    random: &mut Random,
) -> MadeCall {
    let given = random_arguments(random, &argument_type.object);
    let text = given.write(random.below(4) == 0);
    let Json::Object(members) = given else { panic!("{text} is no object") };
    let expected = decode_object(&argument_type.object, &members, integers_of(lang));
    let response = call(client, &published_name(argument_type), &text).await;
    let answer = answer(&response);
    let found = match &answer {
        Ok(Value::Object(members)) => Some(normal_object(&argument_type.object, members.clone())),
        Ok(other) => Some(other.clone()),
        Err(_) => None,
    };
    let accepted = match &answer {
        Ok(_) => Some(true),
        Err(message) => message.starts_with(REJECTED).then_some(false),
    };
    let difference = (found != expected).then(|| Difference {
        tool: published_name(argument_type),
        given: text.clone(),
        expected: expected.map_or("an error".to_owned(), |expected| expected.to_string()),
        found: found.map_or_else(|| answer.unwrap_err(), |found| found.to_string()),
    });
    MadeCall { given: text, accepted, difference }
}

/// Calls a tool with arguments as they are written.
async fn call(client: &Client, tool: &str, arguments: &str) -> HttpResponse {
    let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    let (name, meta) = (json!(tool), stateless_meta());
    let params = format!("{{\"name\":{name},\"arguments\":{arguments},\"_meta\":{meta}}}");
    let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{params}}}");
    client.post(&headers, body).await
}

/// The JSON with which a tool answered, or the message of its error.
fn answer(response: &HttpResponse) -> Result<Value, String> {
    let Some(result) = response.response().get("result") else {
        return Err(response.response()["error"]["message"].to_string());
    };
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    if result["isError"] == true {
        return Err(text.to_owned());
    }
    Ok(serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {response:?}")))
}

fn published_name(argument_type: &ArgumentType) -> String {
    format!("types-{}", argument_type.tool)
}
