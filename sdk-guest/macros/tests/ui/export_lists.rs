use plugport_sdk::prelude::*;

/// A resource.
#[resource("notes://all")]
fn one() -> String {
    String::new()
}

/// The same.
#[resource("notes://all")]
fn two() -> String {
    String::new()
}

/// A prompt.
#[prompt]
fn greet(name: String) -> String {
    name
}

/// The same.
#[prompt(name = "greet")]
fn welcome() -> String {
    String::new()
}

#[complete(prompt = greet, argument = "name")]
fn names(value: &str) -> Vec<String> {
    vec![value.to_owned()]
}

#[complete(prompt = greet, argument = "name")]
fn more_names(value: &str) -> Vec<String> {
    vec![value.to_owned()]
}

plugport_sdk::export! { resources: [one, two], prompts: [greet, welcome], completions: [names, more_names] }

plugport_sdk::export! { resources: [greet] }

plugport_sdk::export! { prompts: [one] }

plugport_sdk::export! { completions: [one] }

fn main() {}
