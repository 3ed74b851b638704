//! Limits the names and types that a component declares, because the engine stores them in addition to its code.
//!
//! The engine copies the names of the running functions into every backtrace. Each import, export and type takes a few
//! bytes in the file, but some hundred bytes in the server as long as the plugin is loaded. So declarations take memory
//! of the serving process long after the file was compiled.

use wasmparser::{KnownCustom, Name, Parser, Payload};

/// Maximum length of a name, in bytes. Some compilers write names of a few thousand.
const MAX_NAME: usize = 16 << 10;

/// Maximum size of a component's imports, exports and types, in bytes of its file; each byte takes up to 60 in the
/// server. The largest known component has a tenth of this.
const MAX_DECLARED: usize = 256 << 10;

/// The maximum for all its core modules and the sections that link them, where a byte takes up to 20. Components in
/// Python have hundreds of KiB, because they link libraries.
const MAX_LINKED: usize = 2 << 20;

/// Checks what a component declares. Bytes that are not a component pass, because the compiler reports them.
pub(super) fn check(component: &[u8]) -> Result<(), String> {
    let (mut declared, mut linked) = (0, 0);
    for payload in Parser::new(0).parse_all(component) {
        let Ok(payload) = payload else { return Ok(()) };
        declared += declared_bytes(&payload);
        linked += linked_bytes(&payload);
        if declared > MAX_DECLARED {
            return Err(format!(
                "its imports, exports and types take more than {} KiB; export less",
                MAX_DECLARED >> 10
            ));
        }
        if linked > MAX_LINKED {
            return Err(format!(
                "the imports, exports and types of its core modules take more than {} KiB; link them into one, or export less",
                MAX_LINKED >> 10
            ));
        }
        if longest_name(&payload) > MAX_NAME {
            return Err(format!("the name of a function is longer than {MAX_NAME} bytes; strip the names"));
        }
    }
    Ok(())
}

/// The length of a section in which a component declares something, in bytes; zero for other sections.
fn declared_bytes(payload: &Payload<'_>) -> usize {
    match payload {
        Payload::ComponentTypeSection(section) => section.range().len(),
        Payload::ComponentImportSection(section) => section.range().len(),
        Payload::ComponentExportSection(section) => section.range().len(),
        Payload::ComponentInstanceSection(section) => section.range().len(),
        Payload::ComponentCanonicalSection(section) => section.range().len(),
        _ => 0,
    }
}

/// Like [`declared_bytes`], for core modules and the sections that link them.
fn linked_bytes(payload: &Payload<'_>) -> usize {
    match payload {
        Payload::TypeSection(section) => section.range().len(),
        Payload::ImportSection(section) => section.range().len(),
        Payload::ExportSection(section) => section.range().len(),
        Payload::CoreTypeSection(section) => section.range().len(),
        Payload::InstanceSection(section) => section.range().len(),
        Payload::ComponentAliasSection(section) => section.range().len(),
        _ => 0,
    }
}

/// The length of the longest function name in a name section. Like the engine, this function reads up to the first
/// error.
fn longest_name(payload: &Payload<'_>) -> usize {
    let Payload::CustomSection(section) = payload else { return 0 };
    let KnownCustom::Name(sections) = section.as_known() else { return 0 };
    let maps = sections.into_iter().map_while(Result::ok);
    let functions =
        maps.filter_map(|section| if let Name::Function(names) = section { Some(names) } else { None });
    functions
        .flat_map(|names| names.into_iter().map_while(Result::ok))
        .map(|naming| naming.name.len())
        .max()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(length: usize) -> Vec<u8> {
        let name = "f".repeat(length);
        wat::parse_str(format!("(component (core module (func ${name})))")).unwrap()
    }

    #[test]
    fn what_a_component_declares_is_bounded() {
        let exports = |count: usize| {
            let exports: String = (0..count).map(|n| format!(r#"(export "e{n}" (func $f))"#)).collect();
            let core = r#"(core module $m (func (export "f"))) (core instance $i (instantiate $m))"#;
            let lifted = r#"(func $f (canon lift (core func $i "f")))"#;
            check(&wat::parse_str(format!("(component {core} {lifted} {exports})")).unwrap())
        };
        assert_eq!(exports(1_000), Ok(()));
        assert!(exports(40_000).unwrap_err().contains("imports, exports and types take more than 256 KiB"));
        let core: String =
            (0..200_000).map(|n| format!(r#"(export "a long name of a function {n}" (func 0))"#)).collect();
        let core = wat::parse_str(format!("(component (core module (func) {core}))")).unwrap();
        assert!(check(&core).unwrap_err().contains("of its core modules take more than 2048 KiB"));
    }

    #[test]
    fn names_are_bounded_wherever_they_are() {
        assert_eq!(check(&named(MAX_NAME)), Ok(()));
        assert!(check(&named(MAX_NAME + 1)).unwrap_err().contains("strip the names"));
        assert_eq!(check(b"\0asm\x0d\0\x01\0\xff"), Ok(()), "the compiler reports what is no component");
    }
}
