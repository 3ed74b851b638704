use plugport_sdk::prelude::*;
use plugport_sdk::serde::Deserialize;

struct Plain {
    name: String,
}

#[derive(Deserialize)]
#[serde(crate = "plugport_sdk::serde")]
struct NoSchema {
    name: String,
}

/// Greet someone.
#[tool]
fn plain(person: Plain) -> String {
    person.name
}

/// Greet some.
#[tool]
fn nested(people: Vec<Plain>) -> usize {
    people.iter().map(|person| person.name.len()).sum()
}

/// Greet someone.
#[tool]
fn no_schema(#[args] person: NoSchema) -> String {
    person.name
}

/// Greet someone.
#[tool]
fn bad_default(#[arg(default = "many")] times: u32) -> u32 {
    times
}

fn main() {}
