//! How long the names of a component's functions may be.
//!
//! The engine keeps them, and copies those of the functions that were running into every backtrace: what a name costs is
//! paid by the serving process, with each trap, long after the file was compiled.

use wasmparser::{KnownCustom, Name, Parser, Payload};

/// Longest name, bytes. Compilers write some of a few thousand.
const LONGEST: usize = 16 << 10;

/// Says what is wrong with the names; what is wrong with anything else is for the compiler to say.
pub(super) fn check(component: &[u8]) -> Result<(), String> {
    for payload in Parser::new(0).parse_all(component) {
        let Ok(payload) = payload else { return Ok(()) };
        if longest(&payload) > LONGEST {
            return Err(format!("the name of a function is longer than {LONGEST} bytes; strip the names"));
        }
    }
    Ok(())
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
    fn names_are_bounded_wherever_they_are() {
        assert_eq!(check(&named(LONGEST)), Ok(()));
        assert!(check(&named(LONGEST + 1)).unwrap_err().contains("strip the names"));
        assert_eq!(check(b"\0asm\x0d\0\x01\0\xff"), Ok(()), "no component at all is not for us to say");
    }
}
