use plugport_sdk::prelude::*;

/// A resource.
#[resource("notes://count")]
fn count() -> u32 {
    1
}

/// Resources.
#[resource_template("notes://{id}", list = list)]
fn note(id: String) -> String {
    id
}

fn list() -> Vec<String> {
    Vec::new()
}

fn main() {}
