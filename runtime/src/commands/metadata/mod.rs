//! What a component says of itself: name, version, licences and where it comes from, in the custom sections that
//! component tools have agreed on. `plugport build` writes them and `plugport inspect` shows them.
//!
//! The texts are read straight from the outermost sections: nothing is decoded but lengths, so a stranger's file can make
//! this neither slow nor large.

mod sections;

use serde_json::{Value, json};

pub(super) use sections::{SectionError, strip};
use sections::{custom, leb, outermost};

/// The section in which a component has its own name.
const NAMES: &str = "component-name";

/// Longest text that is read, characters.
const LONGEST: usize = 1_000;

/// What a component says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    pub(super) name: Option<String>,
    pub(super) version: Option<String>,
    /// An SPDX expression.
    pub(super) licenses: Option<String>,
    pub(super) description: Option<String>,
    pub(super) authors: Option<String>,
    /// Where the source is.
    pub(super) source: Option<String>,
    pub(super) homepage: Option<String>,
}

impl Metadata {
    /// What the component says. What cannot be read it does not say.
    pub(super) fn of(component: &[u8]) -> Self {
        let mut found = Self::default();
        for section in outermost(component).map_while(Result::ok) {
            let Some((name, data)) = section.custom else { continue };
            if name == NAMES {
                found.name = found.name.or_else(|| own_name(data).map(text));
            } else if let Some(field) = found.field(name) {
                field.get_or_insert_with(|| text(data));
            }
        }
        found
    }

    /// The same without what is left empty in a manifest.
    pub(super) fn without_blanks(mut self) -> Self {
        for words in self.all() {
            words.take_if(|words| words.trim().is_empty());
        }
        self
    }

    /// The component with these words in place of those that it had. What is not said here stays as it was.
    pub(super) fn add_to(&self, component: &[u8]) -> Result<Vec<u8>, SectionError> {
        let said = self.said();
        let is_new = |name: &str| said.iter().any(|(new, _)| *new == name);
        let mut out = component.get(..sections::PREAMBLE).ok_or(SectionError)?.to_vec();
        for section in outermost(component) {
            let section = section?;
            if !section.custom.is_some_and(|(name, _)| is_new(name)) {
                out.extend_from_slice(section.whole);
            }
        }
        for (name, words) in said {
            match name {
                NAMES => custom(name, &naming(words), &mut out),
                _ => custom(name, words.as_bytes(), &mut out),
            }
        }
        Ok(out)
    }

    /// Every field with the name of its section, but for the name of the component.
    fn fields(&self) -> [(&'static str, &Option<String>); 6] {
        [
            ("version", &self.version),
            ("licenses", &self.licenses),
            ("description", &self.description),
            ("authors", &self.authors),
            ("source", &self.source),
            ("homepage", &self.homepage),
        ]
    }

    fn all(&mut self) -> [&mut Option<String>; 7] {
        let Self { name, version, licenses, description, authors, source, homepage } = self;
        [name, version, licenses, description, authors, source, homepage]
    }

    fn field(&mut self, section: &str) -> Option<&mut Option<String>> {
        Some(match section {
            "version" => &mut self.version,
            "licenses" => &mut self.licenses,
            "description" => &mut self.description,
            "authors" => &mut self.authors,
            "source" => &mut self.source,
            "homepage" => &mut self.homepage,
            _ => return None,
        })
    }

    /// What there is to say, by the names of the sections.
    fn said(&self) -> Vec<(&'static str, &str)> {
        let named = std::iter::once((NAMES, &self.name)).chain(self.fields());
        named.filter_map(|(name, words)| Some((name, words.as_deref()?))).collect()
    }

    pub(super) fn as_json(&self) -> Value {
        let mut all = json!({ "name": self.name });
        for (name, words) in self.fields() {
            if let Some(object) = all.as_object_mut() {
                object.insert(name.to_owned(), json!(words));
            }
        }
        all
    }

    /// The same for people, who have to make it harmless.
    pub(super) fn lines(&self) -> Vec<String> {
        let named = std::iter::once(("name", &self.name)).chain(self.fields());
        named.filter_map(|(name, words)| Some(format!("{name:<12} {}", words.as_deref()?))).collect()
    }
}

/// Words of a stranger, as many as anybody reads.
fn text(bytes: &[u8]) -> String {
    let bytes = bytes.get(..LONGEST * 4).unwrap_or(bytes);
    String::from_utf8_lossy(bytes).chars().take(LONGEST).collect()
}

/// The component's own name: the first part of the section, when it is of kind 0.
fn own_name(names: &[u8]) -> Option<&[u8]> {
    let (0, rest) = names.split_first().map(|(kind, rest)| (*kind, rest))? else { return None };
    let (length, rest) = leb(rest)?;
    let (name, rest) = leb(rest.get(..length)?)?;
    rest.get(..name)
}

/// A section with nothing in it but the component's own name.
fn naming(name: &str) -> Vec<u8> {
    let mut inner = Vec::new();
    sections::sized(name.as_bytes(), &mut inner);
    let mut out = vec![0];
    sections::sized(&inner, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn about() -> Metadata {
        Metadata {
            name: Some("my-tool".to_owned()),
            version: Some("1.2.3".to_owned()),
            licenses: Some("MIT OR Apache-2.0".to_owned()),
            source: Some("https://example.com/tool".to_owned()),
            ..Metadata::default()
        }
    }

    #[test]
    fn what_is_written_is_read_again_and_said_once() {
        let once = about().add_to(EMPTY).unwrap();
        assert_eq!(Metadata::of(&once), about());
        assert_eq!(about().add_to(&once).unwrap(), once, "the same again");
        let other = Metadata { version: Some("2.0.0".to_owned()), ..Metadata::default() };
        let twice = other.add_to(&once).unwrap();
        let expected = Metadata { version: Some("2.0.0".to_owned()), ..about() };
        assert_eq!(Metadata::of(&twice), expected);
    }

    #[test]
    fn what_is_left_empty_is_not_said() {
        let blank = Metadata { description: Some(" ".to_owned()), homepage: Some(String::new()), ..about() };
        assert_eq!(blank.without_blanks(), about());
    }

    #[test]
    fn other_tools_read_it_too() {
        let component = about().add_to(EMPTY).unwrap();
        let mut found = Vec::new();
        for payload in wasmparser::Parser::new(0).parse_all(&component) {
            if let wasmparser::Payload::CustomSection(section) = payload.unwrap() {
                found.push((section.name().to_owned(), section.data().to_vec()));
            }
        }
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["component-name", "version", "licenses", "source"]);
        assert_eq!(found[1].1, b"1.2.3");
        assert_eq!(found[0].1, b"\0\x08\x07my-tool");
    }

    #[test]
    fn a_stranger_can_neither_break_it_nor_make_it_long() {
        let long = Metadata { description: Some("é".repeat(5_000)), ..Metadata::default() };
        let shown = Metadata::of(&long.add_to(EMPTY).unwrap()).description.unwrap();
        assert_eq!(shown.chars().count(), LONGEST);
        let whole = about().add_to(EMPTY).unwrap();
        for cut in 0..whole.len() {
            let _ = Metadata::of(&whole[..cut]);
            let mut torn = whole.clone();
            torn[cut] = 0xff;
            let _ = Metadata::of(&torn);
        }
        assert!(about().add_to(b"\0asm").is_err() && about().add_to(&whole[..20]).is_err());
        assert_eq!(Metadata::of(b"not wasm at all"), Metadata::default());
    }
}
