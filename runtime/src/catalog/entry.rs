//! One plugin's part of the catalog: its tools as they may be published, and those that may not, with the reason.
//!
//! A bad tool is left out and its plugin stays; a tool is its author's mistake, and the others may be what someone
//! relies on.

use std::collections::HashSet;
use std::sync::Arc;

use super::schema::Schema;
use super::vetting::{VettingError, vet};
use crate::json::RawObject;
use crate::plugin::{Loaded, Plugin, Surface, Tool};

/// A tool that clients can see and call.
#[derive(Debug)]
pub struct PublishedTool {
    /// The name that clients use.
    pub name: String,
    /// Who runs it.
    pub plugin: Arc<Plugin>,
    /// What the plugin says of it; its own name for it is in here.
    pub tool: Tool,
    /// Schema of its arguments.
    pub input: Schema,
    /// Schema of its structured content.
    pub output: Option<Schema>,
    /// Further MCP fields.
    pub extra: RawObject,
}

/// A tool that is not published.
#[derive(Debug)]
pub struct Refused {
    /// The plugin's own name for it.
    pub tool: String,
    /// Why.
    pub why: String,
}

/// What one plugin contributes.
#[derive(Debug)]
pub struct Entry {
    /// The plugin.
    pub plugin: Arc<Plugin>,
    /// What it imports and exports.
    pub surface: Surface,
    /// In order of their names.
    pub tools: Vec<Arc<PublishedTool>>,
    /// In the plugin's own order.
    pub refused: Vec<Refused>,
}

impl Entry {
    /// Vets everything that a plugin says of itself.
    #[must_use]
    pub fn vet(loaded: Loaded) -> Self {
        let Loaded { plugin, surface, tools } = loaded;
        let mut entry = Self { plugin, surface, tools: Vec::new(), refused: Vec::new() };
        let most = usize::try_from(entry.plugin.config().limits.tools).unwrap_or(usize::MAX);
        let excess = tools.len().saturating_sub(most);
        let mut seen = HashSet::new();
        for tool in tools.into_iter().take(most) {
            let name = tool.name.clone();
            if !seen.insert(name.clone()) {
                entry.refuse(name, "the plugin already has a tool of this name".to_owned());
                continue;
            }
            match published(&entry.plugin, tool) {
                Ok(tool) => entry.tools.push(Arc::new(tool)),
                Err(error) => entry.refuse(name, error.to_string()),
            }
        }
        if excess > 0 {
            entry.refuse(format!("{excess} more tools"), format!("a plugin may have {most} (limit `tools`)"));
        }
        entry.tools.sort_by(|a, b| a.name.cmp(&b.name));
        entry
    }

    pub(super) fn refuse(&mut self, tool: String, why: String) {
        self.refused.push(Refused { tool, why });
    }
}

fn published(plugin: &Arc<Plugin>, tool: Tool) -> Result<PublishedTool, VettingError> {
    let config = plugin.config();
    let vetted = vet(&tool, &config.prefix, &config.limits)?;
    Ok(PublishedTool {
        name: vetted.name,
        plugin: Arc::clone(plugin),
        tool,
        input: vetted.input,
        output: vetted.output,
        extra: vetted.extra,
    })
}
