//! The names and URIs under which clients see the items of one plugin.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::catalog::{Item, ItemList, Snapshot};
use crate::observe::Redactor;

/// The warning about a plugin that lists nothing, without the word "warning".
pub(super) const LISTS_NOTHING: &str = "it lists no tools, resources or prompts now; if its source has some, \
    look for warnings of its build, and at its exports with `plugport inspect`";

/// Maximum number of items of one kind that a line names.
const MAX_NAMED: usize = 20;

/// Names and URIs by kind of item.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PublishedNames {
    tools: Vec<String>,
    resources: Vec<String>,
    #[serde(rename = "resourceTemplates")]
    templates: Vec<String>,
    prompts: Vec<String>,
}

impl PublishedNames {
    /// Looks up what the plugin listed: a search of all items, for each of a thousand plugins, would take longer than
    /// loading them.
    pub(super) fn of(snapshot: &Snapshot, plugin: &str) -> Self {
        let Some(entry) = snapshot.entry(plugin) else { return Self::default() };
        Self {
            tools: published(snapshot.tools(), entry.all_tools()),
            resources: published(snapshot.resources(), &entry.resources),
            templates: published(snapshot.templates(), &entry.templates),
            prompts: published(snapshot.prompts(), &entry.prompts),
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        let Self { tools, resources, templates, prompts } = self;
        [tools, resources, templates, prompts].into_iter().all(Vec::is_empty)
    }

    /// One line with the first names of each kind, since a plugin may list very many.
    pub(super) fn in_words(&self) -> String {
        if self.is_empty() {
            return "nothing".to_owned();
        }
        let parts = [
            ("", &self.tools),
            ("resources ", &self.resources),
            ("templates ", &self.templates),
            ("prompts ", &self.prompts),
        ];
        let named = parts.into_iter().filter(|(_, keys)| !keys.is_empty());
        named.map(|(kind, keys)| format!("{kind}{}", few(keys))).collect::<Vec<_>>().join("; ")
    }

    /// The same without secrets.
    pub(super) fn redacted(mut self, redactor: &Redactor) -> Self {
        let Self { tools, resources, templates, prompts } = &mut self;
        for key in [tools, resources, templates, prompts].into_iter().flatten() {
            *key = redactor.text(key).into_owned();
        }
        self
    }
}

/// The keys of those of these items that are published.
fn published<'e, T: Item + 'e>(
    list: &ItemList<T>,
    listed: impl IntoIterator<Item = &'e Arc<T>>,
) -> Vec<String> {
    let is_published = |item: &&Arc<T>| list.get(item.key()).is_some_and(|found| Arc::ptr_eq(found, item));
    listed.into_iter().filter(is_published).map(|item| item.key().to_owned()).collect()
}

fn few(keys: &[String]) -> String {
    let named: Vec<_> = keys.iter().take(MAX_NAMED).map(String::as_str).collect();
    match keys.len().saturating_sub(MAX_NAMED) {
        0 => named.join(", "),
        more => format!("{}, {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_names_are_called_nothing() {
        assert_eq!(PublishedNames::default().in_words(), "nothing");
        let prompts = PublishedNames { prompts: vec!["hello".to_owned()], ..PublishedNames::default() };
        assert_eq!((prompts.is_empty(), prompts.in_words().as_str()), (false, "prompts hello"));
    }

    #[test]
    fn a_great_many_are_counted() {
        let keys: Vec<_> = (0..22).map(|n| n.to_string()).collect();
        assert!(few(&keys).ends_with("18, 19, 2 more"), "{}", few(&keys));
        assert_eq!(few(&keys[..2]), "0, 1");
    }
}
