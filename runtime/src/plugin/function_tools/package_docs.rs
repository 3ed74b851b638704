//! The doc comments of functions.
//!
//! The types of a component have no comments. Some toolchains write them as JSON into the custom section
//! `package-docs`, in the format of WIT packages: a byte for the version, then the functions of each world and
//! interface by name. Most toolchains write none, and the section is untrusted, so a section that cannot be read counts
//! as missing.

use plugport_common::custom_sections;
use serde_json::Value;

use crate::config::fixed_limits::DESCRIPTION_KIB;
use crate::config::kib;

/// The section's name.
const NAME: &[u8] = b"package-docs";

/// Largest section that is read, bytes.
const MAX_SECTION: usize = 256 << 10;

/// The bytes of the section in a component.
#[derive(Debug, Default)]
pub(in super::super) struct DocsSection(Option<Vec<u8>>);

/// The parsed section.
pub(super) struct PackageDocs(Value);

impl DocsSection {
    /// Finds the section of the component itself, not of nested modules and components.
    pub(in super::super) fn of(component: &[u8]) -> Self {
        let data = custom_sections(component).find_map(|(name, data)| (name == NAME).then_some(data));
        Self(data.filter(|data| data.len() <= MAX_SECTION).map(<[u8]>::to_owned))
    }

    pub(super) fn read(&self) -> PackageDocs {
        // Where version 0 has the text, version 1 has an object with the text; `docs_of` reads both.
        let json = match self.0.as_deref() {
            Some([0 | 1, json @ ..]) => json,
            _ => &[],
        };
        PackageDocs(serde_json::from_slice(json).unwrap_or_default())
    }
}

impl PackageDocs {
    /// The docs of a function of an exported interface, or of the component itself.
    pub(super) fn function(&self, interface: Option<&str>, function: &str) -> Option<String> {
        let docs = match interface {
            Some(interface) => self.of_interface(interface, function),
            None => self.worlds().find_map(|world| {
                ["func_exports", "funcs"].iter().find_map(|kind| docs_of(world.get(kind)?, function))
            }),
        }?;
        let end = docs.floor_char_boundary(kib(DESCRIPTION_KIB).min(docs.len()));
        docs.get(..end).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The section has `ns:package/name@1.0.0` among the package's interfaces, and an interface without a package in a
    /// world.
    fn of_interface(&self, interface: &str, function: &str) -> Option<&str> {
        if let Some((_, name)) = interface.split_once('/') {
            let name = name.split_once('@').map_or(name, |(name, _)| name);
            return docs_of(self.0.get("interfaces")?.get(name)?.get("funcs")?, function);
        }
        self.worlds().find_map(|world| {
            let mut kinds = ["interface_exports", "interfaces"].iter();
            kinds.find_map(|kind| docs_of(world.get(kind)?.get(interface)?.get("funcs")?, function))
        })
    }

    fn worlds(&self) -> impl Iterator<Item = &Value> {
        let worlds = self.0.get("worlds").and_then(Value::as_object);
        worlds.into_iter().flat_map(|worlds| worlds.values())
    }
}

fn docs_of<'w>(functions: &'w Value, function: &str) -> Option<&'w str> {
    let docs = functions.get(function)?;
    docs.as_str().or_else(|| docs.get("docs")?.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(data: &[u8]) -> Vec<u8> {
        let mut body = vec![NAME.len() as u8];
        body.extend(NAME);
        body.extend(data);
        let mut bytes = b"\0asm\x0d\0\x01\0\x00\x03\x01xy".to_vec();
        bytes.push(0);
        bytes.extend([0x80 | (body.len() & 0x7f) as u8, (body.len() >> 7) as u8]);
        bytes.extend(body);
        bytes
    }

    fn docs(data: &str) -> PackageDocs {
        DocsSection::of(&component(data.as_bytes())).read()
    }

    fn said(docs: &PackageDocs, interface: Option<&str>, function: &str) -> Option<String> {
        docs.function(interface, function)
    }

    #[test]
    fn words_are_found_where_both_versions_have_them() {
        let json = r#"{"worlds":{"w":{"func_exports":{"now":{"docs":"The time."}},"funcs":{"old":"Old."},
            "interface_exports":{"inner":{"funcs":{"a":{"docs":"In."}}}}}},
            "interfaces":{"tools":{"funcs":{"add":{"docs":" Adds. "},"none":{}}}}}"#;
        for version in ["\0", "\x01"] {
            let docs = docs(&format!("{version}{json}"));
            assert_eq!(said(&docs, None, "now").as_deref(), Some("The time."));
            assert_eq!(said(&docs, None, "old").as_deref(), Some("Old."));
            assert_eq!(said(&docs, Some("a:b/tools@1.0.0"), "add").as_deref(), Some("Adds."));
            assert_eq!(said(&docs, Some("inner"), "a").as_deref(), Some("In."));
            assert_eq!(said(&docs, Some("a:b/tools"), "none"), None);
            assert_eq!(said(&docs, None, "add"), None);
        }
    }

    #[test]
    fn nonsense_says_nothing() {
        for data in ["", "\x01", "\x01{", "\x01[]", "\x02{}", "\x01{\"worlds\":[{\"funcs\":{\"now\":1}}]}"] {
            assert_eq!(said(&docs(data), None, "now"), None, "{data:?}");
        }
        let whole = component(b"\x01{}");
        for length in 0..whole.len() {
            assert!(DocsSection::of(&whole[..length]).0.is_none());
        }
        assert!(DocsSection::of(&whole).0.is_some());
    }
}
