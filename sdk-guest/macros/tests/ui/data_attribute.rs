use plugport_sdk::prelude::*;

#[data(Serialize)]
struct Keys {
    name: String,
}

#[data]
fn function() {}

fn main() {}
