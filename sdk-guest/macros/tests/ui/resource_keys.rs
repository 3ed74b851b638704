use plugport_sdk::prelude::*;

/// A resource.
#[resource]
fn without_uri() -> String {
    String::new()
}

/// A resource.
#[resource("notes://{id}")]
fn with_braces() -> String {
    String::new()
}

/// A resource.
#[resource("all notes")]
fn without_scheme() -> String {
    String::new()
}

/// A resource.
#[resource("notes://all", mime = "text/plain")]
fn unknown_key() -> String {
    String::new()
}

/// A resource.
#[resource("notes://all", list = more)]
fn list() -> String {
    String::new()
}

/// A resource.
#[resource("notes://all")]
fn argument(id: String) -> String {
    id
}

#[resource("notes://all")]
fn description() -> String {
    String::new()
}

fn main() {}
