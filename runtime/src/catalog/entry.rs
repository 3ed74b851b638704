//! One plugin's part of the catalog: its tools as they may be published, and those that may not, with the reason.
//!
//! A bad tool is left out and its plugin stays; a tool is its author's mistake, and the others may be what someone
//! relies on.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::schema::Schema;
use super::vetting::{VettingError, vet};
use crate::config::Limits;
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

impl PublishedTool {
    /// A tool with an output schema owes structured content that fits it, unless it failed.
    ///
    /// # Errors
    /// With what is missing or does not fit.
    pub fn keeps_promise(&self, structured: Option<&RawValue>, is_error: bool) -> Result<(), String> {
        let Some(schema) = self.output.as_ref().filter(|_| !is_error) else { return Ok(()) };
        let text = structured.ok_or("it promises structured content and gave none")?.get();
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let checked = schema.validate(&value, text.len());
        checked.map_err(|mismatch| format!("its structured content does not fit its schema: {mismatch}"))
    }

    fn patterns(&self) -> u64 {
        self.input.patterns() + self.output.as_ref().map_or(0, Schema::patterns)
    }
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
        let Loaded { plugin, surface, offer } = loaded;
        let tools = offer.tools;
        let mut entry = Self { plugin, surface, tools: Vec::new(), refused: Vec::new() };
        let most = usize::try_from(entry.plugin.config().limits.tools).unwrap_or(usize::MAX);
        let excess = tools.len().saturating_sub(most);
        let mut seen = HashSet::new();
        let mut limits = entry.plugin.config().limits.clone();
        for tool in tools.into_iter().take(most) {
            let name = tool.name.clone();
            if !seen.insert(name.clone()) {
                entry.refuse(name, "the plugin already has a tool of this name".to_owned());
                continue;
            }
            match published(&entry.plugin, tool, &limits) {
                Ok(tool) => {
                    // The patterns that are left for the next tool.
                    limits.patterns = limits.patterns.saturating_sub(tool.patterns());
                    entry.tools.push(Arc::new(tool));
                }
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

fn published(plugin: &Arc<Plugin>, tool: Tool, limits: &Limits) -> Result<PublishedTool, VettingError> {
    let vetted = vet(&tool, &plugin.config().prefix, limits)?;
    Ok(PublishedTool {
        name: vetted.name,
        plugin: Arc::clone(plugin),
        tool,
        input: vetted.input,
        output: vetted.output,
        extra: vetted.extra,
    })
}
