//! The metadata of a component: name, version, licences and source, in the custom sections that component tools have
//! agreed on. `plugport build` writes them and `plugport inspect` shows them.
//!
//! The file is untrusted: only the outermost custom sections count, and texts are cut.

use serde_json::{Value, json};
use wasmparser::{ComponentName, CustomSectionReader, KnownCustom, Parser, Payload};

/// The custom section in which a component has its own name.
pub const COMPONENT_NAME: &str = "component-name";

/// Maximum length of a text in characters.
const MAX_CHARS: usize = 1_000;

/// The metadata of a component, as its author wrote it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// An SPDX expression.
    pub licenses: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Who wrote it.
    pub authors: Option<String>,
    /// Where the source is.
    pub source: Option<String>,
    /// Where people read about it.
    pub homepage: Option<String>,
}

impl Metadata {
    /// Reads the metadata of a component. Unreadable fields are empty.
    #[must_use]
    pub fn of(component: &[u8]) -> Self {
        let mut metadata = Self::default();
        for section in outermost_custom_sections(component) {
            if section.name() == COMPONENT_NAME {
                metadata.name = metadata.name.or_else(|| own_name(&section));
            } else if let Some(field) = metadata.field(section.name()) {
                field.get_or_insert_with(|| text(section.data()));
            }
        }
        metadata
    }

    /// The same without fields that are blank in a manifest.
    #[must_use]
    pub fn without_blanks(mut self) -> Self {
        let Self { name, version, licenses, description, authors, source, homepage } = &mut self;
        for words in [name, version, licenses, description, authors, source, homepage] {
            words.take_if(|words| words.trim().is_empty());
        }
        self
    }

    /// Every field except the name, with the name of its section.
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

    /// The fields that are set, with the names of their sections.
    pub fn sections(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let named = std::iter::once((COMPONENT_NAME, &self.name)).chain(self.fields());
        named.filter_map(|(name, words)| Some((name, words.as_deref()?)))
    }

    /// For programs.
    #[must_use]
    pub fn as_json(&self) -> Value {
        let mut all = json!({ "name": self.name });
        for (name, words) in self.fields() {
            if let Some(object) = all.as_object_mut() {
                object.insert(name.to_owned(), json!(words));
            }
        }
        all
    }

    /// Lines for people, which the caller must escape.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let named = std::iter::once(("name", &self.name)).chain(self.fields());
        named.filter_map(|(name, words)| Some(format!("{name:<12} {}", words.as_deref()?))).collect()
    }
}

/// The custom sections of the component itself, up to its end or to the first error.
fn outermost_custom_sections(component: &[u8]) -> impl Iterator<Item = CustomSectionReader<'_>> {
    let mut depth = 0_usize;
    Parser::new(0).parse_all(component).map_while(Result::ok).filter_map(move |payload| {
        match payload {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if depth == 1 => return Some(section),
            _ => {}
        }
        None
    })
}

/// The component's own name, in the section that also names its parts.
fn own_name(section: &CustomSectionReader<'_>) -> Option<String> {
    let KnownCustom::ComponentName(names) = section.as_known() else { return None };
    names.into_iter().map_while(Result::ok).find_map(|name| match name {
        ComponentName::Component { name, .. } => Some(text(name.as_bytes())),
        _ => None,
    })
}

/// Untrusted text, cut at the maximum length.
fn text(bytes: &[u8]) -> String {
    let bytes = bytes.get(..MAX_CHARS * 4).unwrap_or(bytes);
    String::from_utf8_lossy(bytes).chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{Component, ComponentNameSection, CustomSection, RawSection};

    use super::*;

    fn about() -> Metadata {
        Metadata {
            name: Some("my-tool".to_owned()),
            version: Some("1.2.3".to_owned()),
            source: Some("https://example.com/tool".to_owned()),
            ..Metadata::default()
        }
    }

    /// A component with this metadata.
    fn component(about: &Metadata) -> Component {
        let mut component = Component::new();
        for (name, words) in about.sections() {
            if name == COMPONENT_NAME {
                let mut names = ComponentNameSection::new();
                names.component(words);
                component.section(&names);
            } else {
                let data = words.as_bytes().into();
                component.section(&CustomSection { name: name.into(), data });
            }
        }
        component
    }

    #[test]
    fn what_is_left_empty_is_not_said() {
        let blank = Metadata { description: Some(" ".to_owned()), homepage: Some(String::new()), ..about() };
        assert_eq!(blank.without_blanks(), about());
    }

    #[test]
    fn only_what_the_component_says_itself_counts() {
        let other = Metadata { licenses: Some("MIT".to_owned()), ..about() };
        let mut outer = Component::new();
        outer.section(&RawSection { id: 4, data: &component(&other).finish() });
        let version = CustomSection { name: "version".into(), data: b"2".as_slice().into() };
        outer.section(&version);
        let expected = Metadata { version: Some("2".to_owned()), ..Metadata::default() };
        assert_eq!(Metadata::of(&outer.finish()), expected);
    }

    #[test]
    fn an_untrusted_file_can_neither_break_it_nor_make_it_long() {
        let long = Metadata { description: Some("é".repeat(5_000)), ..about() };
        let shown = Metadata::of(&component(&long).finish()).description.unwrap();
        assert_eq!(shown.chars().count(), MAX_CHARS);
        let whole = component(&about()).finish();
        assert_eq!(Metadata::of(&whole), about());
        for cut in 0..whole.len() {
            let _ = Metadata::of(&whole[..cut]);
            let mut torn = whole.clone();
            torn[cut] = 0xff;
            let _ = Metadata::of(&torn);
        }
        assert_eq!(Metadata::of(b"not wasm at all"), Metadata::default());
    }
}
