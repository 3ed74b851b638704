//! Bounds the names and types that a component declares, since the engine stores them beside its code.
//!
//! The engine copies the names of the running functions into every backtrace, and each import, export and type of a few
//! bytes becomes an entry of some hundred bytes for as long as the plugin is loaded. So declarations take memory of the
//! serving process, long after the file was compiled.

use wasmparser::{KnownCustom, Name, Parser, Payload};

/// Longest name, bytes. Compilers write some of a few thousand.
const LONGEST: usize = 16 << 10;

/// Imports, exports and types of a component, bytes of its file; each byte takes up to 60 in the server. The largest
/// known component has a tenth of it.
const DECLARED: usize = 256 << 10;

/// The same for all its core modules and for what links them, where a byte takes up to 20. Components in Python have
/// hundreds of KiB, since they link libraries.
const LINKED: usize = 2 << 20;

/// Checks what a component declares. Bytes that are no component pass: the compiler reports them.
pub(super) fn check(component: &[u8]) -> Result<(), String> {
    let (mut declared, mut linked) = (0, 0);
    for payload in Parser::new(0).parse_all(component) {
        let Ok(payload) = payload else { return Ok(()) };
        declared += declares(&payload);
        linked += links(&payload);
        if declared > DECLARED {
            return Err(format!(
                "its imports, exports and types take more than {} KiB; export less",
                DECLARED >> 10
            ));
        }
        if linked > LINKED {
            return Err(format!(
                "the imports, exports and types of its core modules take more than {} KiB; link them into one, or export less",
                LINKED >> 10
            ));
        }
        if longest(&payload) > LONGEST {
            return Err(format!("the name of a function is longer than {LONGEST} bytes; strip the names"));
        }
    }
    Ok(())
}

/// Length of a section in which a component declares something, bytes.
fn declares(payload: &Payload<'_>) -> usize {
    match payload {
        Payload::ComponentTypeSection(section) => section.range().len(),
        Payload::ComponentImportSection(section) => section.range().len(),
        Payload::ComponentExportSection(section) => section.range().len(),
        Payload::ComponentInstanceSection(section) => section.range().len(),
        Payload::ComponentCanonicalSection(section) => section.range().len(),
        _ => 0,
    }
}

/// The same for core modules and for what links them.
fn links(payload: &Payload<'_>) -> usize {
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

/// The length of the longest function name in a name section. Like the engine, this reads up to the first error.
fn longest(payload: &Payload<'_>) -> usize {
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
        assert_eq!(check(&named(LONGEST)), Ok(()));
        assert!(check(&named(LONGEST + 1)).unwrap_err().contains("strip the names"));
        assert_eq!(check(b"\0asm\x0d\0\x01\0\xff"), Ok(()), "the compiler reports what is no component");
    }
}
