//! The one place where bytes become machine code of this process.
//!
//! Wasmtime trusts compiled code as it trusts itself: it looks at the head and runs the rest. So there is a type for bytes
//! that may be trusted so far, and it is made in two places only: where the compiler answers, and where the cache has
//! found its own seal on the very bytes that it hands over.

use wasmtime::Engine;
use wasmtime::component::Component;

/// Machine code that this program's compiler made.
#[derive(Debug)]
pub(super) struct Code {
    /// Where the code begins, for what was read together with a seal.
    start: usize,
    bytes: Vec<u8>,
}

impl Code {
    /// What a compiler answered.
    pub(super) fn of_compiler(bytes: Vec<u8>) -> Self {
        Self { start: 0, bytes }
    }

    /// What lies behind a seal that was verified.
    pub(super) fn behind_seal(bytes: Vec<u8>, start: usize) -> Self {
        Self { start, bytes }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// Makes it callable. Code of another version or of other settings is refused.
    #[expect(unsafe_code, reason = "wasmtime cannot check compiled code; the type says where it comes from")]
    pub(super) fn load(&self, engine: &Engine) -> wasmtime::Result<Component> {
        // SAFETY: the bytes come from `Engine::precompile_component` of this program, either directly or with a seal that
        // only this user's key makes. They are in memory of ours, so that nobody changes them between check and use.
        unsafe { Component::deserialize(engine, self.as_bytes()) }
    }
}
