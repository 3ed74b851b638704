//! `version_a` with a wider input schema: it asks for one more argument.

use plugport_sdk::prelude::*;

/// Say which build this is.
#[tool]
fn version(context: Option<String>) -> &'static str {
    if context.is_some() { "told" } else { "widened" }
}

plugport_sdk::export! { tools: [version] }
