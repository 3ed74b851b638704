//! Which module may use which. The layers and their order are the table in `docs/architecture.md`; the modules beside
//! the layers are listed here.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::source_text::names_after;

const ARCHITECTURE: &str = include_str!("../../../docs/architecture.md");

/// The layers from the top of a call to its bottom, each with what it knows. A layer may use those after it.
static LAYERS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let rows = ARCHITECTURE.lines().skip_while(|line| !line.starts_with("| Layer |")).skip(2);
    let cells = |row: &'static str| {
        let mut cells = row.strip_prefix('|')?.split('|').map(str::trim);
        Some((cells.next()?.trim_matches('`'), cells.next()?))
    };
    rows.map_while(cells).collect()
});

/// The modules of a capability that belong to the layer `grants`, like `capability/grant_trait` and
/// `capability/plugin_grants`.
pub(crate) const GRANT_PARTS: [&str; 2] = ["grant", "policy"];

/// Modules that every layer may use, and that use no layer.
const LEAVES: [&str; 6] =
    ["json", "observe", "outgoing_connection", "self_waking", "safe_open", "token_bucket"];

/// Modules outside the order, with the layers that they may use.
const UNORDERED: [(&str, &[&str]); 5] = [
    ("toml_reader", &[]),
    ("watch", &["catalog", "approval", "plugin", "config"]),
    ("bindings", &["capability"]),
    ("cli", &[]),
    ("main", &["cli", "commands"]),
];

/// Modules outside the order, with the layers that may use them.
const USERS: [(&str, &[&str]); 4] = [
    ("watch", &["commands"]),
    ("bindings", &["plugin", "capability"]),
    ("cli", &["commands", "main"]),
    ("toml_reader", &["config", "grants"]),
];

/// The layer of a module, and how many parts of its path name the top of that layer.
pub(crate) fn layer<'p>(parts: &[&'p str]) -> (&'p str, usize) {
    match parts {
        ["capability", "grant_trait" | "plugin_grants", ..] => ("grants", 2),
        ["capability", _, part, ..] if GRANT_PARTS.contains(part) => ("grants", 3),
        [first, ..] => (first, 1),
        [] => ("", 0),
    }
}

/// The layers that the code uses.
pub(crate) fn used_layers(text: &str) -> BTreeSet<String> {
    // In a macro, `$folder` stands for the folder of every capability.
    let text = text.replace("$folder", "folder");
    let mut used = names_after(&text, "crate::");
    if used.remove("capability") {
        for second in names_after(&text, "crate::capability::") {
            let mut third = names_after(&text, &format!("crate::capability::{second}::"));
            if third.is_empty() {
                third.insert(String::new());
            }
            used.extend(third.iter().map(|third| layer(&["capability", &second, third]).0.to_owned()));
        }
    }
    used
}

/// The place of a layer in the order.
fn rank(name: &str) -> Option<usize> {
    LAYERS.iter().position(|(layer, _)| *layer == name)
}

pub(crate) fn may_use(module: &str, used: &str) -> bool {
    if module == used || module == "lib" || LEAVES.contains(&used) {
        return true;
    }
    if let Some((_, users)) = USERS.iter().find(|(name, _)| *name == used) {
        return users.contains(&module);
    }
    if let Some((_, allowed)) = UNORDERED.iter().find(|(name, _)| *name == module) {
        return allowed.contains(&used);
    }
    match (rank(module), rank(used)) {
        (Some(from), Some(to)) => from < to,
        _ => false,
    }
}

/// A module with what it knows, for messages.
pub(crate) fn describe(module: &str) -> String {
    let layer = LAYERS.iter().find(|(layer, _)| *layer == module);
    layer.map_or_else(|| module.to_owned(), |(layer, knows)| format!("{layer} ({knows})"))
}

/// How to mend a use that breaks the rule.
pub(crate) fn hint(module: &str, used: &str) -> String {
    if let Some((_, users)) = USERS.iter().find(|(name, _)| *name == used) {
        return format!("only {} may", users.join(", "));
    }
    match (rank(module), rank(used)) {
        (Some(from), Some(to)) if from > to => format!(
            "move what both need to {} or below it, and pass results of `{module}` as return values",
            describe(module)
        ),
        _ => format!("this test lists what `{module}` may use"),
    }
}

#[test]
fn the_rule_can_fail() {
    assert!(may_use("transport", "mcp") && may_use("plugin", "observe") && may_use("capability", "bindings"));
    assert!(may_use("config", "grants") && !may_use("grants", "config") && !may_use("grants", "capability"));
    assert!(
        !may_use("mcp", "transport") && !may_use("sandbox", "capability") && !may_use("catalog", "bindings")
    );
    assert!(!may_use("mcp", "watch") && !may_use("watch", "mcp"));
    assert!(describe("mcp").contains("revisions of MCP") && describe("watch") == "watch");
    let text = "use crate::capability::{X, y::Z}; crate::capability::http::grant::A crate::capability::plugin_grants::B";
    assert_eq!(used_layers(text).into_iter().collect::<Vec<_>>(), ["capability", "grants"]);
    for text in ["use crate::capability::plugin_grants::B", "use crate::capability::grant_trait::B"] {
        assert_eq!(used_layers(text).into_iter().collect::<Vec<_>>(), ["grants"]);
    }
}
