use plugport_sdk::prelude::*;

struct Id;

/// Resources.
#[resource_template("notes://{folder}/{id}")]
fn variable_without_parameter(id: String) -> String {
    id
}

/// Resources.
#[resource_template("notes://{id}")]
fn parameter_without_variable(id: String, part: String) -> String {
    id + &part
}

/// Resources.
#[resource_template("notes://{id*}")]
fn modifier(id: String) -> String {
    id
}

/// Resources.
#[resource_template("notes://all")]
fn without_variable() -> String {
    String::new()
}

/// Resources.
#[resource_template("notes://{id}/{id}")]
fn twice(id: String) -> String {
    id
}

/// Resources.
#[resource_template("notes://{id}")]
fn not_from_text(id: Id) -> String {
    let Id = id;
    String::new()
}

/// Resources.
#[resource_template("notes://{id}", when = always)]
fn unknown_key(id: String) -> String {
    id
}

fn main() {}
