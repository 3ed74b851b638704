use plugport_sdk::prelude::*;

/// Greet someone.
#[tool]
fn hello(name: String) -> String {
    name
}

plugport_sdk::export! { functions: [hello] }

plugport_sdk::export! { tools: [hello], tools: [hello] }

plugport_sdk::export! { [hello] }

plugport_sdk::export! { tools: hello }

plugport_sdk::export! { tools: [] }

plugport_sdk::export! {}

fn main() {}
