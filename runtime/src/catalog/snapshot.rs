//! Everything that is offered at one moment, immutable and in one order.
//!
//! The order is by name, so it does not depend on when a file was copied or which plugin compiled first; the identity
//! is a digest of what clients can see, so equal catalogs are equal across restarts.

use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::entry::{Entry, PublishedTool};

/// One moment's catalog.
#[derive(Debug, Default)]
pub struct Snapshot {
    id: u64,
    entries: Vec<Entry>,
    tools: Vec<Arc<PublishedTool>>,
    by_name: HashMap<String, usize>,
}

impl Snapshot {
    /// Joins the plugins, in the order of their names. A later plugin never takes an earlier one's tool name.
    #[must_use]
    pub fn new(mut entries: Vec<Entry>) -> Self {
        entries.sort_by(|a, b| a.plugin.name().cmp(b.plugin.name()));
        let mut owners: HashMap<String, String> = HashMap::new();
        for entry in &mut entries {
            let owner = entry.plugin.name().to_owned();
            for tool in std::mem::take(&mut entry.tools) {
                match owners.get(&tool.name) {
                    Some(first) => {
                        let why = format!("the name `{}` already belongs to the plugin `{first}`", tool.name);
                        entry.refuse(tool.tool.name.clone(), why);
                    }
                    None => {
                        owners.insert(tool.name.clone(), owner.clone());
                        entry.tools.push(tool);
                    }
                }
            }
        }
        let mut tools: Vec<_> = entries.iter().flat_map(|entry| entry.tools.iter().cloned()).collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let by_name = tools.iter().enumerate().map(|(at, tool)| (tool.name.clone(), at)).collect();
        Self { id: identity(&tools), entries, tools, by_name }
    }

    /// Equal for catalogs that look the same to clients.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The plugins, by name.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The tools, by name.
    #[must_use]
    pub fn tools(&self) -> &[Arc<PublishedTool>] {
        &self.tools
    }

    /// The tool of this public name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Arc<PublishedTool>> {
        self.by_name.get(name).and_then(|at| self.tools.get(*at))
    }
}

fn identity(tools: &[Arc<PublishedTool>]) -> u64 {
    let mut hash = Sha256::new();
    for tool in tools {
        let output = tool.output.as_ref().map(|schema| schema.text().get()).unwrap_or_default();
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        for part in [
            tool.name.as_str(),
            tool.input.text().get(),
            output,
            &text(&tool.tool.title),
            &text(&tool.tool.description),
            &text(&tool.tool.extra),
            &format!("{:?}", tool.tool.annotations),
        ] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
    }
    hash.finalize().iter().take(8).fold(0, |id, byte| (id << 8) | u64::from(*byte))
}
