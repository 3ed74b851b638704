//! Bounds what a component declares, since the engine keeps that beside its code: names and types.
//!
//! It copies the names of the functions that were running into every backtrace, and each import, export and type of a
//! few bytes becomes an entry of some hundred that stays for as long as the plugin is loaded. So what a file declares
//! is paid by the serving process, long after the file was compiled.

use wasmparser::{KnownCustom, Name, Parser, Payload};

/// Longest name, bytes. Compilers write some of a few thousand.
const LONGEST: usize = 16 << 10;

/// What a component may import, export and define as types, bytes of its file; each takes up to 60 times as much in the
/// server. That of the largest known is a tenth of it.
const DECLARED: usize = 256 << 10;

/// The same of all its core modules and of what joins them, where a byte takes up to 20 times as much. Components in
/// Python have hundreds of KiB, since libraries are joined in them.
const JOINED: usize = 2 << 20;

/// Says what is wrong with what it declares; what is wrong with anything else is for the compiler to say.
pub(super) fn check(component: &[u8]) -> Result<(), String> {
    let (mut declared, mut joined) = (0, 0);
    for payload in Parser::new(0).parse_all(component) {
        let Ok(payload) = payload else { return Ok(()) };
        declared += declares(&payload);
        joined += joins(&payload);
        if declared > DECLARED {
            return Err(format!(
                "its imports, exports and types take more than {} KiB; export less",
                DECLARED >> 10
            ));
        }
        if joined > JOINED {
            return Err(format!(
                "the imports, exports and types of its core modules take more than {} KiB; link them into one, or export less",
                JOINED >> 10
            ));
        }
        if longest(&payload) > LONGEST {
            return Err(format!("the name of a function is longer than {LONGEST} bytes; strip the names"));
        }
    }
    Ok(())
}

/// Bytes of a section of a component that declares something.
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

/// The same of core modules, and of what joins them.
fn joins(payload: &Payload<'_>) -> usize {
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

/// The length of the longest function name in a section of names. The engine, too, reads until something is wrong.
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
        assert_eq!(check(b"\0asm\x0d\0\x01\0\xff"), Ok(()), "no component at all is not for us to say");
    }
}
