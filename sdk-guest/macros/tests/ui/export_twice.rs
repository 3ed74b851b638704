use plugport_sdk::prelude::*;

/// Greet someone.
#[tool]
fn hello(name: String) -> String {
    name
}

mod more {
    use plugport_sdk::prelude::*;

    /// Greet someone else.
    #[tool]
    pub fn hello(name: String) -> String {
        name
    }
}

plugport_sdk::export! { tools: [hello, more::hello, hello] }

fn main() {}
