//! Makes a component from a core module for WASI preview 1: embeds the world, and adds the adapter from preview 1 to
//! WASI 0.2.

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use super::error::BuildError;
use super::wit_world::WitWorld;

pub(super) fn from_core_module(core: &[u8], wit: &WitWorld) -> Result<Vec<u8>, BuildError> {
    let (resolve, world) = wit.resolve()?;
    let mut module = core.to_vec();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .map_err(BuildError::Component)?;
    encode(&module).map_err(BuildError::Component)
}

fn encode(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    let adapter = (WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER);
    ComponentEncoder::default().validate(true).module(module)?.adapter(adapter.0, adapter.1)?.encode()
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
}
