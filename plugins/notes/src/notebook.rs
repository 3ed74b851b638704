//! The notes in the store, each under a key of its own. Calls run side by side, so there is no index that one could
//! spoil for another: what there is follows from the keys, and a note changes by compare-and-swap. Whatever changes a
//! note here tells the host what clients see differently.

use plugport_sdk::kv::{self, Store};
use plugport_sdk::{Error, notify};

use crate::note::{LONGEST_NAME, LONGEST_TEXT, NOTES, Note, Slug};

const KEY: &str = "note/";
/// Below this, names have little in common.
const ALIKE: f64 = 0.75;

/// Why the notebook does not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(
        "no store is granted to this plugin; only the operator of the server can grant one, and its log says how"
    )]
    NotGranted,
    #[error("give the note a title with a letter or a digit, of at most {LONGEST_NAME} bytes")]
    Title,
    #[error("`{0}` cannot be a tag; write one with a letter or a digit, of at most {LONGEST_NAME} bytes")]
    Tag(String),
    #[error("the note would be longer than {LONGEST_TEXT} KiB; put the rest into another note")]
    TooLong,
    #[error("`{0}` would replace the note `{1}`, since their URIs are the same; choose another title")]
    Taken(String, String),
    #[error("there is no note `{0}`; {1}")]
    Unknown(String, String),
    #[error("the notebook could not be used; delete notes if it is full")]
    Store(#[source] Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        if matches!(error, Error::Denied(_)) { Self::NotGranted } else { Self::Store(error) }
    }
}

/// For resources and prompts, which have no results that are errors.
impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Store(error) => error,
            Fault::NotGranted => Self::Denied(fault.to_string()),
            _ => Self::InvalidParams(fault.to_string()),
        }
    }
}

/// A note after a change, and whether it is new.
pub(crate) type Written = (Slug, Note, bool);

pub(crate) struct Notebook(Store);

impl Notebook {
    pub(crate) fn open() -> Result<Self, Fault> {
        Ok(Self(kv::open()?))
    }

    /// In alphabetical order.
    pub(crate) fn slugs(&self) -> Result<Vec<Slug>, Fault> {
        let keys = self.0.keys()?;
        let mut slugs: Vec<_> = keys.iter().filter_map(|key| Slug::exact(key.strip_prefix(KEY)?)).collect();
        slugs.sort();
        Ok(slugs)
    }

    pub(crate) fn get(&self, slug: &Slug) -> Result<Option<Note>, Fault> {
        Ok(self.0.get_json(&key(slug))?)
    }

    /// In the order of the slugs. A note that is deleted meanwhile is left out.
    pub(crate) fn all(&self) -> Result<Vec<(Slug, Note)>, Fault> {
        let read = |slug: Slug| Ok(self.get(&slug)?.map(|note| (slug, note)));
        self.slugs()?.into_iter().filter_map(|slug| read(slug).transpose()).collect()
    }

    /// The note of this title, slug or URI.
    pub(crate) fn find(&self, name: &str) -> Result<(Slug, Note), Fault> {
        let of_uri = self.slugs()?.into_iter().find(|slug| slug.uri() == name);
        let bare = name.strip_prefix(NOTES).unwrap_or(name);
        let slug = of_uri.or_else(|| Slug::of(bare)).ok_or(Fault::Title)?;
        match self.get(&slug)? {
            Some(note) => Ok((slug, note)),
            None => Err(Fault::Unknown(name.to_owned(), hint(&slug, self.all()?))),
        }
    }

    /// Keeps a note in place of the one with this title. Without tags it keeps those that were there.
    pub(crate) fn write(&self, title: &str, text: &str, tags: Option<&[String]>) -> Result<Written, Fault> {
        let (slug, empty) = Note::new(title, tags.unwrap_or_default())?;
        let fresh = empty.with_more(text)?;
        self.put(slug, &fresh, |old| {
            if old.title.to_lowercase() != fresh.title.to_lowercase() {
                return Err(Fault::Taken(fresh.title.clone(), old.title.clone()));
            }
            let tags = if tags.is_some() { &fresh.tags } else { &old.tags };
            Ok(Note { tags: tags.clone(), ..fresh.clone() })
        })
    }

    /// Adds to a note. One that is deleted meanwhile begins anew, so that the text is kept in any case.
    pub(crate) fn append(&self, name: &str, text: &str) -> Result<Written, Fault> {
        let (slug, note) = self.find(name)?;
        let fresh = Note { text: String::new(), ..note }.with_more(text)?;
        self.put(slug, &fresh, |old| old.with_more(text))
    }

    pub(crate) fn delete(&self, name: &str) -> Result<(Slug, Note), Fault> {
        let (slug, note) = self.find(name)?;
        self.0.delete(&key(&slug))?;
        tell(&slug, Some(&note), None);
        Ok((slug, note))
    }

    /// Keeps `fresh` where no note is, and otherwise what `merge` makes of the one that is there.
    pub(crate) fn put(
        &self,
        slug: Slug,
        fresh: &Note,
        merge: impl Fn(&Note) -> Result<Note, Fault>,
    ) -> Result<Written, Fault> {
        let mut before = Ok(None);
        let after = self.0.update_json(&key(&slug), |old: Option<Note>| {
            let Some(old) = old else {
                before = Ok(None);
                return fresh.clone();
            };
            match merge(&old) {
                Ok(new) => {
                    before = Ok(Some(old));
                    new
                }
                Err(fault) => {
                    before = Err(fault);
                    old
                }
            }
        })?;
        let before = before?;
        tell(&slug, before.as_ref(), Some(&after));
        Ok((slug, after, before.is_none()))
    }
}

fn key(slug: &Slug) -> String {
    format!("{KEY}{}", slug.as_str())
}

/// Up to three titles that somebody may have meant, the likeliest first.
fn hint(wanted: &Slug, notes: Vec<(Slug, Note)>) -> String {
    let likeness = |slug: &Slug| strsim::jaro_winkler(wanted.as_str(), slug.as_str());
    let mut alike: Vec<_> = notes.into_iter().map(|(slug, note)| (likeness(&slug), note.title)).collect();
    alike.retain(|(likeness, _)| *likeness >= ALIKE);
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let titles: Vec<_> = alike.iter().take(3).map(|(_, title)| format!("`{title}`")).collect();
    match titles.as_slice() {
        [] => "`find_notes` lists what there is".to_owned(),
        _ => format!("the closest titles are {}", titles.join(", ")),
    }
}

/// Tells of what shows something else now: the list, the index, and the note.
fn tell(slug: &Slug, before: Option<&Note>, after: Option<&Note>) {
    if before.map(|note| &note.title) != after.map(|note| &note.title) {
        notify::resources_changed();
    }
    if before.map(|note| (&note.title, &note.tags)) != after.map(|note| (&note.title, &note.tags)) {
        notify::resource_updated(crate::INDEX);
    }
    if before.map(|note| &note.text) != after.map(|note| &note.text) {
        notify::resource_updated(slug.uri());
    }
}
