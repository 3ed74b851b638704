//! One list of a snapshot: its items in a fixed order, each found by its key, and an identity of its own.
//!
//! The identity is a digest of what clients can see and of the kind of list, so equal lists are equal across restarts and a
//! cursor of one list means nothing in another. A later plugin never takes an earlier one's key, nor one that could be
//! taken for it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use sha2::{Digest as _, Sha256};

use super::entry::Refused;

/// The four kinds of things that a plugin offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Something to call.
    Tool,
    /// Something to read.
    Resource,
    /// A family of things to read.
    Template,
    /// Something to fill in.
    Prompt,
}

impl Kind {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Tool, Self::Resource, Self::Template, Self::Prompt];

    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Template => "template",
            Self::Prompt => "prompt",
        }
    }

    /// What its key is.
    fn key_word(self) -> &'static str {
        match self {
            Self::Tool | Self::Prompt => "name",
            Self::Resource => "URI",
            Self::Template => "URI template",
        }
    }
}

/// What all kinds of items have in common.
pub trait Item {
    /// Which kind it is.
    const KIND: Kind;

    /// What clients ask for it by.
    fn key(&self) -> &str;
    /// The same for keys that a reader could take for one another.
    fn likeness(&self) -> Cow<'_, str> {
        self.key().into()
    }
    /// What its plugin calls it.
    fn own_name(&self) -> &str;
    /// The name of the plugin that serves it.
    fn owner(&self) -> &str;
    /// Everything of it that clients see.
    fn fingerprint(&self, print: &mut Fingerprint);
    /// Where the digest of that is kept: an item is in many snapshots and never changes.
    fn print(&self) -> &Print;
}

/// The digest of what clients see of one item.
pub type Print = OnceLock<[u8; 32]>;

/// A digest of parts, each told apart from its neighbours.
#[derive(Debug, Default)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
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

/// The items of one kind that are offered at one moment.
#[derive(Debug)]
pub struct List<T> {
    id: u64,
    items: Vec<Arc<T>>,
    by_key: HashMap<String, usize>,
}

impl<T: Item> List<T> {
    /// Joins what the plugins offer, in their order. A key, with all that look like it, belongs to the plugin that had
    /// it `before` and still offers it, else to the first one; `claimed` names others that it belongs to. What a plugin may not have goes to `refused`.
    pub(super) fn join<'e>(
        offered: impl Iterator<Item = &'e Arc<T>>,
        before: Option<&Self>,
        claimed: impl Fn(&T) -> Option<String>,
        refused: &mut Vec<(String, Refused)>,
    ) -> Self
    where
        T: 'e,
    {
        let had = |item: &T| before.and_then(|list| list.get(item.key())).map(|known| known.owner());
        let offered: Vec<(Cow<'_, str>, &Arc<T>)> = offered.map(|item| (item.likeness(), item)).collect();
        let mut owners: HashMap<&str, (&str, &str)> = HashMap::with_capacity(offered.len());
        for (likeness, item) in &offered {
            if had(item).is_some_and(|owner| owner == item.owner()) {
                owners.insert(likeness, (item.owner(), item.key()));
            }
        }
        let mut items: Vec<Arc<T>> = Vec::with_capacity(offered.len());
        for (likeness, item) in &offered {
            let plugin = item.owner();
            let (owner, key) = *owners.entry(likeness).or_insert((plugin, item.key()));
            let keeps = had(item).is_some_and(|had| had == plugin);
            let claimed = || if keeps { None } else { claimed(item) };
            let other = (owner != plugin).then(|| owner.to_owned()).or_else(claimed);
            if let Some(first) = other {
                let word = T::KIND.key_word();
                let why = match key == item.key() {
                    true => format!("the {word} `{key}` already belongs to the plugin `{first}`"),
                    false => {
                        format!("the {word} `{}` looks like `{key}` of the plugin `{first}`", item.key())
                    }
                };
                refused.push((
                    plugin.to_owned(),
                    Refused { kind: T::KIND, name: item.own_name().to_owned(), why },
                ));
                continue;
            }
            items.push(Arc::clone(item));
        }
        // Templates are tried in their plugin's own order, which says which is the more special one.
        if T::KIND != Kind::Template {
            items.sort_by(|a, b| a.key().cmp(b.key()));
        }
        let by_key = items.iter().enumerate().map(|(at, item)| (item.key().to_owned(), at)).collect();
        Self { id: identity(&items), items, by_key }
    }

    /// The item that clients know by this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Arc<T>> {
        self.by_key.get(key).and_then(|at| self.items.get(*at))
    }
}

impl<T> List<T> {
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
    let mut list = Fingerprint::default();
    list.text(T::KIND.as_str());
    for item in items {
        list.0.update(print_of(&**item));
    }
    list.finish().iter().take(8).fold(0, |id, byte| (id << 8) | u64::from(*byte))
}

fn print_of<T: Item>(item: &T) -> &[u8; 32] {
    item.print().get_or_init(|| {
        let mut print = Fingerprint::default();
        item.fingerprint(&mut print);
        print.finish()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Note(&'static str, &'static str, &'static str, Print);

    impl Item for Note {
        const KIND: Kind = Kind::Resource;

        fn key(&self) -> &str {
            self.0
        }

        fn own_name(&self) -> &str {
            self.0
        }

        fn owner(&self) -> &str {
            self.1
        }

        fn fingerprint(&self, print: &mut Fingerprint) {
            print.text(self.0).text(self.2);
        }

        fn print(&self) -> &Print {
            &self.3
        }
    }

    fn note(uri: &'static str, owner: &'static str, text: &'static str) -> Arc<Note> {
        Arc::new(Note(uri, owner, text, Print::new()))
    }

    fn join(notes: &[(&'static str, &'static str, &'static str)]) -> (List<Note>, Vec<(String, Refused)>) {
        let notes: Vec<_> = notes.iter().map(|(uri, owner, text)| note(uri, owner, text)).collect();
        let mut refused = Vec::new();
        (List::join(notes.iter(), None, |_| None, &mut refused), refused)
    }

    #[test]
    fn who_has_a_key_keeps_it_when_an_earlier_plugin_wants_it_too() {
        let (before, _) = join(&[("n:a", "z", "")]);
        let notes = [note("n:a", "b", ""), note("n:a", "z", "")];
        let mut refused = Vec::new();
        let after = List::join(notes.iter(), Some(&before), |_| None, &mut refused);
        assert_eq!(after.get("n:a").map(|note| note.owner()), Some("z"));
        assert_eq!(refused.len(), 1);
        let gone = List::join(notes[..1].iter(), Some(&before), |_| None, &mut refused);
        assert_eq!(gone.get("n:a").map(|note| note.owner()), Some("b"));
    }

    #[test]
    fn a_key_can_belong_to_someone_for_another_reason() {
        let notes = [note("n:a", "b", "")];
        let mut refused = Vec::new();
        let list = List::join(notes.iter(), None, |_| Some("t".to_owned()), &mut refused);
        assert!(list.items().is_empty() && refused[0].1.why.contains("`t`"));
    }

    #[test]
    fn a_later_plugin_never_takes_what_an_earlier_one_has() {
        let (list, refused) = join(&[("n:b", "first", ""), ("n:a", "second", ""), ("n:b", "second", "")]);
        let keys: Vec<&str> = list.items().iter().map(|note| note.key()).collect();
        assert_eq!(keys, ["n:a", "n:b"]);
        assert_eq!(list.get("n:b").map(|note| note.owner()), Some("first"));
        assert!(list.get("n:c").is_none());
        let [(plugin, refused)] = &refused[..] else { panic!("{refused:?}") };
        assert_eq!((plugin.as_str(), refused.name.as_str()), ("second", "n:b"));
        assert!(refused.why.contains("the plugin `first`"));
    }

    #[test]
    fn lists_that_look_the_same_have_one_identity() {
        let id = |notes: &[(&'static str, &'static str, &'static str)]| join(notes).0.id();
        let one = id(&[("n:a", "p", "x"), ("n:b", "p", "y")]);
        assert_eq!(one, id(&[("n:b", "q", "y"), ("n:a", "p", "x")]), "neither order nor owner is seen");
        assert_ne!(one, id(&[("n:a", "p", "x"), ("n:b", "p", "z")]));
        assert_ne!(id(&[("n:a", "p", "bc")]), id(&[("n:ab", "p", "c")]));
    }
}
