//! One list of a snapshot: its items in a fixed order, indexed by key, the list's id, and its pages once they are
//! written.
//!
//! The id is a digest of what clients can see and of the kind of list, so equal lists have equal ids across restarts,
//! and a cursor of one list is not valid for another.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::page_cache::{PageBudget, PageCache, PageKey};
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
    /// What it is a part of: the parts of one plugin are published together or not at all.
    fn whole(&self) -> Option<&str> {
        None
    }
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
    /// The position of each item among all published ones, by its key.
    by_key: Arc<HashMap<String, usize>>,
    /// The positions of `items` among all published ones; `None`: these are all.
    visible: Option<Box<[usize]>>,
    /// Shared by lists of the same items.
    pages: Arc<PageCache>,
}

impl<T: Item> ItemList<T> {
    /// A list of these items, whose keys are all different. `budget` bounds its pages and those of its views.
    pub(crate) fn new(mut items: Vec<Arc<T>>, budget: &Arc<PageBudget>) -> Self {
        // Templates are tried in their plugin's own order, in which more specific ones come first.
        if T::KIND != ItemKind::Template {
            items.sort_by(|a, b| a.key().cmp(b.key()));
        }
        let by_key = items.iter().enumerate().map(|(at, item)| (item.key().to_owned(), at)).collect();
        let (id, by_key, pages) = (identity(&items), Arc::new(by_key), Arc::new(PageCache::new(budget)));
        Self { id, items, by_key, visible: None, pages }
    }

    /// The list of those of all items that `is_visible` accepts. It shares items and index with this one.
    pub(super) fn filtered(&self, is_visible: impl Fn(&T) -> bool) -> Self {
        let visible = self.items.iter().enumerate().filter(|(_, item)| is_visible(item));
        let (positions, items) = visible.map(|(at, item)| (at, Arc::clone(item))).unzip();
        self.view(positions, items)
    }

    /// The same list with what `other` makes of some items, which have the same keys.
    pub(super) fn replaced(&self, other: impl Fn(&T) -> Option<T>) -> Self {
        let items = self.items.iter().map(|item| other(item).map_or_else(|| Arc::clone(item), Arc::new));
        let positions = match &self.visible {
            Some(visible) => visible.to_vec(),
            None => (0..self.items.len()).collect(),
        };
        self.view(positions, items.collect())
    }

    /// A view of this list, with the positions of its items among all published ones.
    fn view(&self, positions: Vec<usize>, items: Vec<Arc<T>>) -> Self {
        let is_same = items.len() == self.items.len()
            && items.iter().zip(&self.items).all(|(one, other)| Arc::ptr_eq(one, other));
        let (id, pages) = match is_same {
            true => (self.id, Arc::clone(&self.pages)),
            false => (identity(&items), Arc::new(self.pages.for_view())),
        };
        Self { id, items, by_key: Arc::clone(&self.by_key), visible: Some(positions.into()), pages }
    }

    /// The item with this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Arc<T>> {
        self.by_key.get(key).and_then(|at| self.items.get(self.index_of(*at)?))
    }

    /// The items whose keys begin with this text. Only for a list in order of its keys.
    pub(super) fn beginning_with(&self, beginning: &str) -> &[Arc<T>] {
        let start = self.items.partition_point(|item| item.key() < beginning);
        let rest = self.items.get(start..).unwrap_or_default();
        let end = rest.partition_point(|item| item.key().starts_with(beginning));
        rest.get(..end).unwrap_or_default()
    }

    /// Whether an item with this key is published, but not in this list.
    pub(super) fn hides(&self, key: &str) -> bool {
        self.by_key.get(key).is_some_and(|at| self.index_of(*at).is_none())
    }

    /// Where in this list the item is that has this position among all.
    fn index_of(&self, position: usize) -> Option<usize> {
        match &self.visible {
            None => Some(position),
            Some(visible) => visible.binary_search(&position).ok(),
        }
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

    /// The page of this key; `write` writes it if no request has needed it yet. It must make a page from the key and
    /// the items only.
    pub(crate) fn page_bytes<E>(
        &self,
        key: PageKey,
        write: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        self.pages.get_or_write(key, write)
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
        ItemList::new(
            notes.iter().map(|(uri, owner, text)| note(uri, owner, text)).collect(),
            &Arc::default(),
        )
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
    fn a_filtered_list_is_as_if_the_others_did_not_exist() {
        let all = list(&[("n:a", "p", ""), ("n:b", "p", ""), ("n:c", "p", "")]);
        let filtered = all.filtered(|note| note.key() != "n:b");
        assert_eq!(filtered.items().len(), 2);
        let found = |key: &str| filtered.get(key).map(|note| note.key());
        assert_eq!((found("n:a"), found("n:b"), found("n:c")), (Some("n:a"), None, Some("n:c")));
        assert!(
            filtered.hides("n:b") && !filtered.hides("n:a") && !filtered.hides("n:x") && !all.hides("n:b")
        );
        assert_eq!(filtered.id(), list(&[("n:a", "p", ""), ("n:c", "p", "")]).id());
        assert_eq!(all.filtered(|_| true).id(), all.id());
    }

    #[test]
    fn only_lists_of_the_same_items_share_pages() {
        let notes = [("n:a", "p", ""), ("n:b", "p", "")];
        let all = list(&notes);
        let page = |list: &ItemList<Note>| {
            let key = PageKey { start: 0, items: list.items().len(), variant: 0 };
            let keys: Vec<&str> = list.items().iter().map(|note| note.key()).collect();
            list.page_bytes(key, || Ok::<_, std::convert::Infallible>(keys.join(" ").into())).unwrap()
        };
        let (first, second) = (all.filtered(|note| note.key() == "n:a"), all.filtered(|_| true));
        let other = all.filtered(|note| note.key() == "n:b");
        assert_eq!(
            (&*page(&all), &*page(&first), &*page(&other)),
            (&b"n:a n:b"[..], &b"n:a"[..], &b"n:b"[..])
        );
        assert_eq!(page(&second).as_ptr(), page(&all).as_ptr());
        assert_eq!(page(&first).as_ptr(), page(&first).as_ptr());
        assert_ne!(page(&list(&notes)).as_ptr(), page(&all).as_ptr(), "a reload makes new lists");
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
