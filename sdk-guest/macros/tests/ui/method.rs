use plugport_sdk::prelude::*;

struct Server;

impl Server {
    /// Greet someone.
    #[tool]
    fn hello(&self, name: String) -> String {
        name
    }
}

fn main() {}
