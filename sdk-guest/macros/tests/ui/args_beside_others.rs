use plugport_sdk::prelude::*;
use plugport_sdk::schemars::JsonSchema;
use plugport_sdk::serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "plugport_sdk::serde")]
#[schemars(crate = "plugport_sdk::schemars")]
struct All {
    name: String,
}

/// Greet someone.
#[tool]
fn beside(call: &Call, #[args] all: All, times: u32) -> String {
    call.info(times);
    all.name
}

/// Greet someone.
#[tool]
fn twice(#[args] all: All, #[args] more: All) -> String {
    all.name + &more.name
}

/// Greet someone.
#[tool]
fn keys(#[args(flat)] all: All) -> String {
    all.name
}

/// Greet someone.
#[tool]
fn both(#[args] #[arg(rename = "it")] all: All) -> String {
    all.name
}

fn main() {}
