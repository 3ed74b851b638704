//! A note, and the names of notes and tags. What may be kept is decided here, before anything is stored: a [`Slug`]
//! always fits a key and a URI, and so many notes always fit one answer.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::notebook::Fault;

/// What the URI of every note begins with.
pub(crate) const NOTES: &str = "notes:///";
/// Longest title or tag, bytes. Percent-encoded it is three times as long and still fits a URI.
pub(crate) const LONGEST_NAME: usize = 300;
/// Longest text, KiB. The notes of a review go into one answer.
pub(crate) const LONGEST_TEXT: usize = 64;

/// Lower-case words with hyphens between them. Letters of any language count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Slug(String);

impl Slug {
    /// What a title or a tag becomes; nothing when it has no words or too many.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let slug = words.collect::<Vec<_>>().join("-");
        (1..=LONGEST_NAME).contains(&slug.len()).then_some(Self(slug))
    }

    /// A slug as it stands in a URI or a key, where it has one spelling only.
    pub(crate) fn exact(text: &str) -> Option<Self> {
        Self::of(text).filter(|slug| slug.0 == text)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The URI of the note.
    pub(crate) fn uri(&self) -> String {
        self.0.bytes().fold(NOTES.to_owned(), |uri, byte| match byte {
            b'-' | b'0'..=b'9' | b'a'..=b'z' => uri + char::from(byte).encode_utf8(&mut [0]),
            _ => format!("{uri}%{byte:02X}"),
        })
    }
}

/// A note as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) title: String,
    pub(crate) tags: BTreeSet<Slug>,
    pub(crate) updated: Timestamp,
    pub(crate) text: String,
}

impl Note {
    /// An empty note and its slug.
    pub(crate) fn new(title: &str, tags: &[String]) -> Result<(Slug, Self), Fault> {
        let words =
            title.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
        let title = words.collect::<Vec<_>>().join(" ");
        let slug = Slug::of(&title).filter(|_| title.len() <= LONGEST_NAME).ok_or(Fault::Title)?;
        let tag = |tag: &String| Slug::of(tag).ok_or_else(|| Fault::Tag(tag.clone()));
        let tags = tags.iter().map(tag).collect::<Result<_, _>>()?;
        Ok((slug, Self { title, tags, updated: Timestamp::now(), text: String::new() }))
    }

    /// The same note with more text, on lines of its own.
    pub(crate) fn with_more(&self, text: &str) -> Result<Self, Fault> {
        let between = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { "\n" };
        let text = format!("{}{between}{text}", self.text);
        if text.len() > LONGEST_TEXT << 10 {
            return Err(Fault::TooLong);
        }
        Ok(Self { text, updated: Timestamp::now(), ..self.clone() })
    }

    /// How well it fits words in lower case; nothing when one is nowhere. The title counts most, then tags, then text.
    pub(crate) fn fit(&self, words: &[String]) -> Option<usize> {
        let (title, text) = (self.title.to_lowercase(), self.text.to_lowercase());
        let one = |word: &String| {
            let in_tags = self.tags.iter().any(|tag| tag.as_str().contains(word));
            let names = usize::from(title.contains(word)) * 8 + usize::from(in_tags) * 4;
            Some(names + text.matches(word).take(3).count()).filter(|points| *points > 0)
        };
        words.iter().map(one).sum()
    }
}
