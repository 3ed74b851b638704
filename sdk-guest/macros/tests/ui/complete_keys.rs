use plugport_sdk::prelude::*;

/// A prompt.
#[prompt]
fn greet(name: String) -> String {
    name
}

#[complete(argument = "name")]
fn without_target(value: &str) -> Vec<String> {
    vec![value.to_owned()]
}

#[complete(prompt = greet)]
fn without_argument(value: &str) -> Vec<String> {
    vec![value.to_owned()]
}

#[complete(prompt = greet, argument = "nmae")]
fn unknown_argument(value: &str) -> Vec<String> {
    vec![value.to_owned()]
}

#[complete(template = greet, argument = "name")]
fn not_a_template(value: &str) -> Vec<String> {
    vec![value.to_owned()]
}

#[complete(prompt = greet, argument = "name")]
fn without_value(context: &CompletionContext) -> Vec<String> {
    known.get("x").map(str::to_owned).into_iter().collect()
}

#[complete(prompt = greet, argument = "name")]
fn other_parameter(value: String) -> Vec<String> {
    vec![value]
}

#[complete(prompt = greet, argument = "name")]
fn returns(value: &str) -> usize {
    value.len()
}

fn main() {}
