//! One approved plugin as the lockfile records it: its digest, imports, grants and items.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::item_descriptor::ItemDescriptor;
use super::sha256::with_algorithm;
use crate::plugin::ItemKind;

/// Descriptors of items, by the plugin's own names for them.
pub type ItemDescriptors = BTreeMap<String, ItemDescriptor>;

/// One plugin as it was approved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovedPlugin {
    /// `sha256:` and the digest of its file.
    pub digest: String,
    /// The interfaces that it imports, sorted.
    pub imports: Vec<String>,
    /// Its grants as sentences, sorted.
    pub grants: Vec<String>,
    /// Its tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: ItemDescriptors,
    /// Its resources, by URI.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: ItemDescriptors,
    /// Its resource templates, by URI template.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub templates: ItemDescriptors,
    /// Its prompts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prompts: ItemDescriptors,
}

impl ApprovedPlugin {
    /// A plugin with a file of this digest, in hex, and no items yet. `grants` are sentences, with paths
    /// [relative to](crate::config::Grants::describe_relative_to) the folder of the lockfile.
    #[must_use]
    pub fn new(digest: &str, imports: &[String], grants: Vec<String>) -> Self {
        Self { digest: with_algorithm(digest), imports: sorted(imports), grants, ..Self::default() }
    }

    /// Whether it approves a file of this digest, in hex, with these grants.
    #[must_use]
    pub fn matches(&self, digest: &str, grants: &[String]) -> bool {
        self.digest == with_algorithm(digest) && self.grants == grants
    }

    /// The same, and the items of `other` that it does not have.
    #[must_use]
    pub fn keeping(mut self, other: &Self) -> Self {
        for (own, others) in [
            (&mut self.tools, &other.tools),
            (&mut self.resources, &other.resources),
            (&mut self.templates, &other.templates),
            (&mut self.prompts, &other.prompts),
        ] {
            for (name, item) in others {
                own.entry(name.clone()).or_insert_with(|| item.clone());
            }
        }
        self
    }

    /// The items of one kind.
    #[must_use]
    pub fn items(&self, kind: ItemKind) -> &ItemDescriptors {
        match kind {
            ItemKind::Tool => &self.tools,
            ItemKind::Resource => &self.resources,
            ItemKind::Template => &self.templates,
            ItemKind::Prompt => &self.prompts,
        }
    }

    /// The text of every item.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        ItemKind::ALL.into_iter().flat_map(|kind| self.items(kind).values()).map(|item| item.says.as_str())
    }

    /// Whether the digest of every item is that of its text.
    pub(super) fn is_whole(&self) -> bool {
        ItemKind::ALL.into_iter().all(|kind| self.items(kind).values().all(ItemDescriptor::is_whole))
    }
}

/// Sorts imports, and removes duplicates.
pub(super) fn sorted(imports: &[String]) -> Vec<String> {
    let mut sorted = imports.to_vec();
    sorted.sort();
    sorted.dedup();
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_approved_is_kept_beside_what_is_listed_now() {
        let described = |says: &str| ItemDescriptor { digest: says.to_owned(), says: says.to_owned() };
        let with = |tools: &[(&str, &str)]| ApprovedPlugin {
            digest: "sha256:aa".to_owned(),
            tools: tools.iter().map(|(name, says)| ((*name).to_owned(), described(says))).collect(),
            ..ApprovedPlugin::default()
        };
        let kept = with(&[("a", "new"), ("c", "new")]).keeping(&with(&[("a", "old"), ("b", "old")]));
        assert_eq!(kept, with(&[("a", "new"), ("b", "old"), ("c", "new")]));
        assert!(
            kept.matches("aa", &[]) && !kept.matches("ab", &[]) && !kept.matches("aa", &["x".to_owned()])
        );
    }
}
