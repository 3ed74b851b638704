//! Rewrites the custom sections of a built component: removes debug sections, and adds the project's metadata. Every
//! other section is copied.

use plugport_common::{COMPONENT_NAME, Metadata, is_files_section};
use wasm_encoder::{
    Component, ComponentNameSection, ComponentSectionId, CustomSection, Module, RawSection, Section as _,
};
use wasmparser::{Encoding, Parser, Payload};

/// Sections that running does not need: names of functions and of parts, and debug information.
const DEBUG_SECTIONS: [&str; 4] = ["name", "component-name", "sourceMappingURL", "external_debug_info"];

/// The bytes are neither a module nor a component, or are cut off.
#[derive(Debug, thiserror::Error)]
#[error("what was built is damaged; build it again")]
pub(super) struct SectionError(#[from] wasmparser::Error);

/// The module or component without debug sections, also in nested modules and components.
pub(super) fn strip(bytes: &[u8]) -> Result<Vec<u8>, SectionError> {
    without(bytes, |_, name| DEBUG_SECTIONS.contains(&name) || name.starts_with(".debug_"))
}

/// The component with this metadata. Fields that `about` does not set stay as they are.
pub(super) fn write_metadata(about: &Metadata, component: &[u8]) -> Result<Vec<u8>, SectionError> {
    let is_new = |name: &str| about.sections().any(|(new, _)| new == name);
    let mut out = without(component, |depth, name| depth == 0 && is_new(name))?;
    for (name, words) in about.sections() {
        if name == COMPONENT_NAME {
            let mut names = ComponentNameSection::new();
            names.component(words);
            names.as_custom().append_to(&mut out);
        } else {
            CustomSection { name: name.into(), data: words.as_bytes().into() }.append_to(&mut out);
        }
    }
    Ok(out)
}

/// The component without the files in it.
pub(super) fn without_files(component: &[u8]) -> Result<Vec<u8>, SectionError> {
    without(component, |depth, name| depth == 0 && is_files_section(name))
}

/// The same module or component without the custom sections for which `is_dropped` holds, given the depth of nesting (0
/// is outermost) and the name.
fn without(bytes: &[u8], is_dropped: impl Fn(usize, &str) -> bool) -> Result<Vec<u8>, SectionError> {
    // The output so far of each enclosing module or component, the outermost first.
    let mut outer = Vec::new();
    let mut out = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        match &payload {
            Payload::Version { encoding: Encoding::Module, .. } => out.extend(Module::HEADER),
            Payload::Version { encoding: Encoding::Component, .. } => out.extend(Component::HEADER),
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                outer.push(std::mem::take(&mut out));
                continue;
            }
            Payload::End(_) => {
                let Some(mut parent) = outer.pop() else { break };
                let is_component = out.starts_with(&Component::HEADER);
                let id =
                    if is_component { ComponentSectionId::Component } else { ComponentSectionId::CoreModule };
                RawSection { id: id.into(), data: &out }.append_to(&mut parent);
                out = parent;
            }
            Payload::CustomSection(custom) if is_dropped(outer.len(), custom.name()) => continue,
            _ => {}
        }
        if let Some((id, range)) = payload.as_section() {
            // The range is within the bytes that were read.
            RawSection { id, data: bytes.get(range).unwrap_or_default() }.append_to(&mut out);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &[u8] = &Component::HEADER;

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
        let once = write_metadata(&about(), EMPTY).unwrap();
        assert_eq!(Metadata::of(&once), about());
        assert_eq!(write_metadata(&about(), &once).unwrap(), once, "the same again");
        let other = Metadata { version: Some("2.0.0".to_owned()), ..Metadata::default() };
        let twice = write_metadata(&other, &once).unwrap();
        let expected = Metadata { version: Some("2.0.0".to_owned()), ..about() };
        assert_eq!(Metadata::of(&twice), expected);
        assert!(
            write_metadata(&about(), b"\0asm").is_err() && write_metadata(&about(), &once[..20]).is_err()
        );
    }

    #[test]
    fn sections_lie_as_other_tools_write_them() {
        let component = write_metadata(&about(), EMPTY).unwrap();
        assert_eq!(customs(&component), ["component-name", "version", "licenses", "source"]);
        let sections =
            [&b"\0\x19\x0ecomponent-name\0\x08\x07my-tool"[..], b"\0\x0d\x07version1.2.3"].concat();
        assert_eq!(component[EMPTY.len()..][..sections.len()], sections);
    }

    /// Names of custom sections, wherever they lie.
    fn customs(bytes: &[u8]) -> Vec<String> {
        let payloads = wasmparser::Parser::new(0).parse_all(bytes).map(Result::unwrap);
        let name = |payload| match payload {
            wasmparser::Payload::CustomSection(section) => Some(section.name().to_owned()),
            _ => None,
        };
        payloads.filter_map(name).collect()
    }

    #[test]
    fn names_and_debug_sections_go_and_all_else_stays() {
        let text =
            r#"(module $named (func $inner (export "f")) (@custom "kept" "x") (@custom ".debug_line" "y"))"#;
        let module = wat::parse_str(text).unwrap();
        let stripped = strip(&module).unwrap();
        assert_eq!(customs(&stripped), ["kept"]);
        assert!(stripped.len() < module.len() && wasmparser::validate(&stripped).is_ok());
        assert_eq!(strip(&stripped).unwrap(), stripped);
        assert!(strip(b"").is_err() && strip(&module[..module.len() - 1]).is_err());
    }

    #[test]
    fn what_lies_in_a_component_is_looked_at_too() {
        let text = r#"(component $outer
            (core module $one (func $f (export "f")) (@custom "kept" "x"))
            (component $inner (core module $two (func $g (export "g")) (@custom "kept too" "y")))
            (core instance $i (instantiate $one))
            (func (export "f") (canon lift (core func $i "f"))))"#;
        let component = wat::parse_str(text).unwrap();
        assert!(customs(&component).iter().any(|name| name == "name"));
        let stripped = strip(&component).unwrap();
        assert_eq!(customs(&stripped), ["kept", "kept too"]);
        assert!(stripped.len() < component.len() && wasmparser::validate(&stripped).is_ok());
        assert_eq!(strip(&stripped).unwrap(), stripped);
    }
}
