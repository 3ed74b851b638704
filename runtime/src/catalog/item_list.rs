//! One list of a snapshot: its items in a fixed order, indexed by key, and the list's id.
//!
//! The id is a digest of what clients can see and of the kind of list, so equal lists have equal ids across restarts,
//! and a cursor of one list is not valid for another.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use sha2::{Digest as _, Sha256};

use crate::plugin::ItemKind;

/// What all kinds of items have in common.
pub trait Item: 'static {
    /// The kind of item.
    const KIND: ItemKind;

    /// The name or URI that clients use.
    fn key(&self) -> &str;
    /// The plugin's own name for it.
    fn own_name(&self) -> &str;
    /// The name of the plugin that serves it.
    fn owner(&self) -> &str;
    /// Hashes everything that clients see of it.
    fn hash_into(&self, hasher: &mut ItemHasher);
    /// The cached digest of what clients see: an item is in many snapshots and never changes.
    fn digest(&self) -> &ItemDigest;
}

/// The digest of what clients see of one item.
pub type ItemDigest = OnceLock<[u8; 32]>;

/// Computes the digest of several parts; their borders count.
#[derive(Debug, Default)]
pub struct ItemHasher(Sha256);

impl ItemHasher {
    pub(super) fn text(&mut self, part: &str) -> &mut Self {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part.as_bytes());
        self
    }

    pub(super) fn optional(&mut self, part: &Option<String>) -> &mut Self {
        self.0.update([u8::from(part.is_some())]);
        self.text(part.as_deref().unwrap_or_default())
    }

    pub(super) fn debug(&mut self, part: &impl Debug) -> &mut Self {
        self.text(&format!("{part:?}"))
    }

    fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// The items of one kind that are published at one moment.
#[derive(Debug)]
pub struct ItemList<T> {
    id: u64,
    items: Vec<Arc<T>>,
    by_key: HashMap<String, usize>,
}

impl<T: Item> ItemList<T> {
    /// A list of these items, whose keys are all different.
    pub(super) fn new(mut items: Vec<Arc<T>>) -> Self {
        // Templates are tried in their plugin's own order, in which more specific ones come first.
        if T::KIND != ItemKind::Template {
            items.sort_by(|a, b| a.key().cmp(b.key()));
        }
        let by_key = items.iter().enumerate().map(|(at, item)| (item.key().to_owned(), at)).collect();
        Self { id: identity(&items), items, by_key }
    }

    /// The item with this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Arc<T>> {
        self.by_key.get(key).and_then(|at| self.items.get(*at))
    }
}

impl<T> ItemList<T> {
    /// Equal for lists that look the same to clients.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The items, in order.
    #[must_use]
    pub fn items(&self) -> &[Arc<T>] {
        &self.items
    }
}

fn identity<T: Item>(items: &[Arc<T>]) -> u64 {
    let mut list = ItemHasher::default();
    list.text(T::KIND.as_str());
    for item in items {
        list.0.update(digest_of(&**item));
    }
    list.finish().iter().take(8).fold(0, |id, byte| (id << 8) | u64::from(*byte))
}

fn digest_of<T: Item>(item: &T) -> &[u8; 32] {
    item.digest().get_or_init(|| {
        let mut hasher = ItemHasher::default();
        item.hash_into(&mut hasher);
        hasher.finish()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Note(&'static str, &'static str, &'static str, ItemDigest);

    impl Item for Note {
        const KIND: ItemKind = ItemKind::Resource;

        fn key(&self) -> &str {
            self.0
        }

        fn own_name(&self) -> &str {
            self.0
        }

        fn owner(&self) -> &str {
            self.1
        }

        fn hash_into(&self, hasher: &mut ItemHasher) {
            hasher.text(self.0).text(self.2);
        }

        fn digest(&self) -> &ItemDigest {
            &self.3
        }
    }

    fn note(uri: &'static str, owner: &'static str, text: &'static str) -> Arc<Note> {
        Arc::new(Note(uri, owner, text, ItemDigest::new()))
    }

    fn list(notes: &[(&'static str, &'static str, &'static str)]) -> ItemList<Note> {
        ItemList::new(notes.iter().map(|(uri, owner, text)| note(uri, owner, text)).collect())
    }

    #[test]
    fn items_are_in_order_and_found_by_their_keys() {
        let list = list(&[("n:b", "first", ""), ("n:a", "second", "")]);
        let keys: Vec<&str> = list.items().iter().map(|note| note.key()).collect();
        assert_eq!(keys, ["n:a", "n:b"]);
        assert_eq!(list.get("n:b").map(|note| note.owner()), Some("first"));
        assert!(list.get("n:c").is_none());
    }

    #[test]
    fn lists_that_look_the_same_have_one_identity() {
        let id = |notes: &[(&'static str, &'static str, &'static str)]| list(notes).id();
        let one = id(&[("n:a", "p", "x"), ("n:b", "p", "y")]);
        assert_eq!(one, id(&[("n:b", "q", "y"), ("n:a", "p", "x")]), "neither order nor owner is seen");
        assert_ne!(one, id(&[("n:a", "p", "x"), ("n:b", "p", "z")]));
        assert_ne!(id(&[("n:a", "p", "bc")]), id(&[("n:ab", "p", "c")]));
    }
}
