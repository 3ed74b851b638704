//! `version_a` with one more import: the same items, and an import to send HTTP requests.

use plugport_sdk::http::Request;
use plugport_sdk::prelude::*;

/// Say which build this is.
#[tool]
fn version() -> &'static str {
    let sent = Request::get("https://example.com/").send();
    if sent.is_ok() { "sent" } else { "imports" }
}

plugport_sdk::export! { tools: [version] }
