//! `version_a` with a wider schema: it would like to be told something.

use plugport_sdk::prelude::*;

/// Say which build this is.
#[tool]
fn version(context: Option<String>) -> &'static str {
    if context.is_some() { "told" } else { "widened" }
}

plugport_sdk::export! { tools: [version] }
