use plugport_sdk::prelude::*;

/// Fetch a page.
#[tool]
async fn fetch(url: String) -> String {
    url
}

fn main() {}
