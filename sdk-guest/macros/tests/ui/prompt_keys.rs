use plugport_sdk::prelude::*;

/// A prompt.
#[prompt(read_only)]
fn unknown_key() -> String {
    String::new()
}

#[prompt]
fn description() -> String {
    String::new()
}

/// A prompt.
#[prompt]
fn all(#[args] all: String) -> String {
    all
}

/// A prompt.
#[prompt]
fn not_from_text(words: Vec<String>) -> String {
    words.concat()
}

/// A prompt.
#[prompt]
fn messages() -> Vec<String> {
    Vec::new()
}

/// A prompt.
#[prompt(when = "always")]
fn when() -> String {
    String::new()
}

fn main() {}
