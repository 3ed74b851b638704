//! Makes a component from a core module for WASI preview 1: embeds the world, and adds an adapter from preview 1 to
//! WASI 0.2.
//!
//! There are two adapters, and the smaller one, made for HTTP proxies, has no files, no environment and no terminals. A
//! module that uses none of these gets the smaller one: the component imports half as many functions, which makes every
//! fresh instance cheaper, and it does not claim to need files.

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_PROXY_ADAPTER,
    WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use super::error::BuildError;
use super::wit_world::WitWorld;

/// The functions of preview 1 that a module may import to get the smaller adapter. A program of a libc that imports
/// only these cannot tell the adapters apart, but for the value of `errno` where a stream cannot do what is asked.
/// Standard streams are all that it can use then, and they are no terminals in any server.
///
/// In the smaller adapter `fd_fdstat_get`, `fd_seek` and `fd_tell` always fail. On streams the last two fail in the
/// other one as well. A libc uses the first for `isatty`, which says no either way, and for `fcntl`, which imports
/// `fd_fdstat_set_flags` besides.
const PROXY_ADAPTER_FUNCTIONS: [&str; 11] = [
    "clock_res_get",
    "clock_time_get",
    "fd_close",
    "fd_fdstat_get",
    "fd_read",
    "fd_seek",
    "fd_tell",
    "fd_write",
    "poll_oneoff",
    "random_get",
    "sched_yield",
];

pub(super) fn from_core_module(core: &[u8], wit: &WitWorld) -> Result<Vec<u8>, BuildError> {
    let (resolve, world) = wit.resolve()?;
    let mut module = core.to_vec();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .map_err(BuildError::Component)?;
    encode(&module).map_err(BuildError::Component)
}

fn encode(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    let adapter = adapter(module)?;
    let encoder = ComponentEncoder::default().validate(true).module(module)?;
    encoder.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, adapter)?.encode()
}

/// The smallest adapter that does what the module imports.
fn adapter(module: &[u8]) -> anyhow::Result<&'static [u8]> {
    for payload in Parser::new(0).parse_all(module) {
        let Payload::ImportSection(section) = payload? else { continue };
        for import in section.into_imports() {
            let import = import?;
            if import.module == WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME
                && !PROXY_ADAPTER_FUNCTIONS.contains(&import.name)
            {
                return Ok(WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER);
            }
        }
    }
    Ok(WASI_SNAPSHOT_PREVIEW1_PROXY_ADAPTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(world: &str, module: &str) -> Result<Vec<u8>, BuildError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x.wit"), format!("package a:b; world w {{ {world} }}")).unwrap();
        let wit = WitWorld { folder: dir.path().to_owned(), world: "w".to_owned() };
        from_core_module(&wat::parse_str(module).unwrap(), &wit)
    }

    #[test]
    fn a_module_of_preview_1_becomes_a_component() {
        let module = r#"(module $named
            (import "wasi_snapshot_preview1" "sched_yield" (func (result i32)))
            (memory (export "memory") 1)
            (func (export "f")) (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable))"#;
        let component = made("export f: func();", module).unwrap();
        assert!(component.starts_with(b"\0asm\x0d\0\x01\0"));
        assert_eq!(made("export f: func();", module).unwrap(), component, "the same again");
        let missing = made("export f: func(); export g: func();", module).unwrap_err();
        assert!(missing.to_string().contains("exports what its world says"), "{missing}");
    }

    /// The interfaces that a component imports whose module imports these functions of preview 1.
    fn imported(functions: &[(&str, &str)]) -> Vec<String> {
        let import = |(name, parameters): &(&str, &str)| {
            format!(r#"(import "wasi_snapshot_preview1" "{name}" (func (param {parameters}) (result i32)))"#)
        };
        let module = format!(
            r#"(module {} (memory (export "memory") 1) (func (export "f"))
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable))"#,
            functions.iter().map(import).collect::<String>()
        );
        let component = made("export f: func();", &module).unwrap();
        let mut names = Vec::new();
        for payload in Parser::new(0).parse_all(&component) {
            if let Payload::ComponentImportSection(section) = payload.unwrap() {
                names.extend(section.into_iter().map(|import| import.unwrap().name.name.to_owned()));
            }
        }
        names
    }

    #[test]
    fn a_module_that_opens_no_files_imports_none() {
        let write = ("fd_write", "i32 i32 i32 i32");
        let stdio = imported(&[write, ("fd_close", "i32"), ("fd_fdstat_get", "i32 i32")]);
        assert!(stdio.iter().any(|name| name.starts_with("wasi:cli/stderr@")), "{stdio:?}");
        let (files, terminals) = ("wasi:filesystem/", "wasi:cli/terminal");
        assert!(
            !stdio.iter().any(|name| name.starts_with(files) || name.starts_with(terminals)),
            "{stdio:?}"
        );
        let environment = imported(&[write, ("environ_get", "i32 i32"), ("environ_sizes_get", "i32 i32")]);
        assert!(environment.iter().any(|name| name.starts_with("wasi:cli/environment@")), "{environment:?}");
        let flags = imported(&[write, ("fd_fdstat_get", "i32 i32"), ("fd_fdstat_set_flags", "i32 i32")]);
        assert!(flags.iter().any(|name| name.starts_with("wasi:filesystem/preopens@")), "{flags:?}");
        let directories = imported(&[write, ("fd_prestat_get", "i32 i32")]);
        assert!(
            directories.iter().any(|name| name.starts_with("wasi:filesystem/preopens@")),
            "{directories:?}"
        );
    }
}
