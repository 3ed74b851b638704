//! The other host that a rejected file was made for, so that the error says what can be done about it.
//!
//! It is read from the names in the sections of imports and exports, not from types: the engine cannot read the types
//! of components that need what is off here. A file that means to deceive gets another sentence in its rejection, and
//! nothing else.

use plugport_common::sections;

/// A host other than this one that files are made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherHost {
    /// Extism, whose plugins are core modules. Those of hyper-mcp are among them.
    Extism,
    /// ACT, whose components export `act:tools`.
    Act,
    /// WASI 0.3.
    NewerWasi {
        /// An interface of it that the component names, with its version.
        interface: String,
    },
}

/// Imports and exports of core modules.
const OF_MODULES: [u8; 2] = [2, 7];

/// Imports and exports of components.
const OF_COMPONENTS: [u8; 2] = [10, 11];

/// Bytes of one section that are searched.
const MAX_SEARCHED: usize = 16 << 10;

/// Sections that are searched. Components have some dozens.
const MAX_SECTIONS: usize = 256;

/// Longest name of an interface that is found.
const MAX_NAME: usize = 64;

impl OtherHost {
    /// What a core module was made for, if its imports show that.
    pub(super) fn of_module(bytes: &[u8]) -> Option<Self> {
        names(bytes, OF_MODULES)
            .any(|names| position(names, b"extism:host/").is_some())
            .then_some(Self::Extism)
    }

    /// What a component was made for, if its imports and exports show that.
    pub(super) fn of_component(bytes: &[u8]) -> Option<Self> {
        if names(bytes, OF_COMPONENTS).any(|names| position(names, b"act:tools/").is_some()) {
            return Some(Self::Act);
        }
        let interface = names(bytes, OF_COMPONENTS).find_map(newer_interface)?;
        Some(Self::NewerWasi { interface })
    }

    /// What it is and what can be done.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Extism => "is a core WebAssembly module made for Extism, such as a plugin of hyper-mcp, and not a \
                             component; it calls functions that only Extism has, so write its tools anew: `plugport \
                             new` makes a project"
                .to_owned(),
            Self::Act => "is a component made for ACT, whose tools are called in another way (`act:tools`); export its \
                          functions in a WIT of their own, or export plugport:plugin/tools"
                .to_owned(),
            Self::NewerWasi { interface } => format!(
                "is made for {interface}, and this server has WASI 0.2; build it for WASI 0.2, as for the target \
                 wasm32-wasip2, and without `async` functions in its WIT"
            ),
        }
    }
}

/// The beginnings of the sections with these ids.
fn names(bytes: &[u8], ids: [u8; 2]) -> impl Iterator<Item = &[u8]> {
    let named = sections(bytes).filter(move |(id, _)| ids.contains(id));
    named.take(MAX_SECTIONS).map(|(_, body)| body.get(..MAX_SEARCHED).unwrap_or(body))
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// The first name such as `wasi:http/handler@0.3.0`.
fn newer_interface(names: &[u8]) -> Option<String> {
    let mut rest = names;
    while let Some(at) = position(rest, b"wasi:") {
        let from = rest.get(at..)?;
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b":/@.+-".contains(byte);
        let name: Vec<u8> = from.iter().take(MAX_NAME).take_while(is_part).copied().collect();
        let name = String::from_utf8(name).ok()?;
        if name.contains("@0.3.") {
            return Some(name);
        }
        rest = from.get(1..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wat(text: &str) -> Vec<u8> {
        wat::parse_str(text).unwrap()
    }

    #[test]
    fn a_module_for_extism_is_told_from_others() {
        let extism = wat(r#"(module (import "extism:host/env" "length" (func (result i64))))"#);
        assert_eq!(OtherHost::of_module(&extism), Some(OtherHost::Extism));
        let user =
            wat(r#"(module (import "extism:host/user" "notify" (func (param i64))) (func (export "call")))"#);
        assert_eq!(OtherHost::of_module(&user), Some(OtherHost::Extism));
        let preview1 = wat(r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func (param i32))))"#);
        assert_eq!(OtherHost::of_module(&preview1), None);
        assert_eq!(OtherHost::of_module(b"\0asm\x01\0\0\0\x02\x7f"), None);
    }

    #[test]
    fn a_component_for_another_host_is_found_by_its_interfaces() {
        let exporting =
            |name: &str| wat(&format!(r#"(component (instance $i) (export "{name}" (instance $i)))"#));
        let importing = |name: &str| wat(&format!(r#"(component (import "{name}" (instance)))"#));
        assert_eq!(
            OtherHost::of_component(&exporting("act:tools/tool-provider@0.2.0")),
            Some(OtherHost::Act)
        );
        for name in
            ["wasi:http/handler@0.3.0", "wasi:cli/run@0.3.1", "wasi:clocks/wall-clock@0.3.0-rc-2026-01-06"]
        {
            let newer = Some(OtherHost::NewerWasi { interface: name.to_owned() });
            assert_eq!(OtherHost::of_component(&exporting(name)), newer);
            assert_eq!(OtherHost::of_component(&importing(name)), newer);
        }
        let both = wat(
            r#"(component (import "wasi:io/poll@0.2.6" (instance)) (import "wasi:io/error@0.2.6" (instance))
                 (import "wasi:random/random@0.3.0" (instance)))"#,
        );
        assert_eq!(
            OtherHost::of_component(&both).unwrap().in_words().split(',').next(),
            Some("is made for wasi:random/random@0.3.0")
        );
        assert_eq!(OtherHost::of_component(&importing("wasi:clocks/wall-clock@0.2.6")), None);
        assert_eq!(OtherHost::of_component(&exporting("tools:clock/now@0.3.0")), None);
    }
}
