//! `scopes` of `[plugins.NAME]` and of `[plugins.NAME.tools.TOOL]`: the scopes that a principal's token needs.
//!
//! A tool needs those of its plugin and its own. They are joined here, since a client has to be told all scopes of a
//! call at once.

use std::collections::BTreeMap;

use crate::config::auth::read_scopes;
use crate::toml_reader::{TomlEntry, TomlReader, TomlTable};

/// Most scopes that one call may need: all of them stand in one header.
const MAX_SCOPES: usize = 16;

/// Most tools of one plugin with scopes of their own.
const MAX_TOOLS: usize = 1_000;

/// The scopes that the items of one plugin need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequiredScopes {
    plugin: Vec<Box<str>>,
    /// By the plugin's own names of its tools, together with those of the plugin.
    tools: BTreeMap<String, Vec<Box<str>>>,
}

impl RequiredScopes {
    /// Takes `scopes` and `tools` from the section of a plugin.
    pub(in crate::config) fn read(section: &mut TomlTable<'_>, reader: &mut TomlReader<'_>) -> Self {
        let mut scopes = Self::default();
        if let Some(entry) = section.take("scopes") {
            scopes.plugin = read_distinct(entry, Vec::new(), reader);
        }
        if let Some(entry) = section.take("tools") {
            scopes.read_tools(entry, reader);
        }
        scopes
    }

    fn read_tools(&mut self, entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) {
        let (path, span) = (entry.key.clone(), entry.span.clone());
        let Some(mut table) = entry.table(reader) else { return };
        let tools = table.take_all();
        if tools.len() > MAX_TOOLS {
            let why = format!("has more than {MAX_TOOLS} tools; set `scopes` of the plugin");
            reader.report(span, &path, why);
            return;
        }
        for (tool, entry) in tools {
            let (path, span) = (entry.key.clone(), entry.span.clone());
            let Some(mut table) = entry.table(reader) else { continue };
            let scopes = table.take("scopes");
            table.finish(reader, &["scopes"]);
            match scopes {
                Some(entry) => {
                    let all = read_distinct(entry, self.plugin.clone(), reader);
                    self.tools.insert(tool, all);
                }
                None => reader.report(span, &path, "needs `scopes`, such as [\"tools:write\"]"),
            }
        }
    }

    /// What a call of this tool needs, by the plugin's own name of it.
    #[must_use]
    pub fn of_tool(&self, own_name: &str) -> &[Box<str>] {
        self.tools.get(own_name).unwrap_or(&self.plugin)
    }

    /// What every other item of the plugin needs.
    #[must_use]
    pub fn of_other_items(&self) -> &[Box<str>] {
        &self.plugin
    }

    /// What the plugin or one of its tools needs, with repetitions.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Box<str>> {
        self.tools.values().chain([&self.plugin]).flatten()
    }

    /// The tools with scopes of their own, by the plugin's own names.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }
}

/// Reads scopes and adds those that `scopes` does not have yet.
fn read_distinct(
    entry: TomlEntry<'_>,
    mut scopes: Vec<Box<str>>,
    reader: &mut TomlReader<'_>,
) -> Vec<Box<str>> {
    let (path, span) = (entry.key.clone(), entry.span.clone());
    for scope in read_scopes(entry, reader) {
        let scope = scope.into_boxed_str();
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    if scopes.len() > MAX_SCOPES {
        reader.report(
            span,
            &path,
            format!("a call may need at most {MAX_SCOPES} scopes, those of the plugin included"),
        );
    }
    scopes
}
