//! `version_a` with one import more: it says the same of itself, and would like to send requests.

use plugport_sdk::http::Request;
use plugport_sdk::prelude::*;

/// Say which build this is.
#[tool]
fn version() -> &'static str {
    let sent = Request::get("https://example.com/").send();
    if sent.is_ok() { "sent" } else { "imports" }
}

plugport_sdk::export! { tools: [version] }
