//! The one place where bytes become machine code of this process.
//!
//! Wasmtime trusts compiled code as it trusts itself: it looks at the head and runs the rest. So there is a type for
//! bytes that may be trusted so far, and it is made in two places only: where the compiler answers, and where the cache
//! has found its own MAC on the very file that it hands over. A file is mapped and not copied: what of a plugin is
//! never run takes no memory then, and servers that share a cache share it in memory too.

use std::fs::File;
use std::os::fd::AsRawFd as _;

use wasmtime::Engine;
use wasmtime::component::Component;

/// Machine code that this program's compiler made.
#[derive(Debug)]
pub(super) enum MachineCode {
    /// What a compiler answered.
    Compiled(Vec<u8>),
    /// A file of the cache with a MAC that was verified, open, and the code that it has; what comes after it there does
    /// not matter.
    Cached(File, Vec<u8>),
}

impl MachineCode {
    /// Makes it callable. Code of another version or of other settings is rejected.
    #[expect(unsafe_code, reason = "wasmtime cannot check compiled code; the type says where it comes from")]
    pub(super) fn load(&self, engine: &Engine) -> wasmtime::Result<Component> {
        match self {
            // SAFETY: the bytes come from `Engine::precompile_component` of this program, and are in memory of ours.
            Self::Compiled(bytes) => unsafe { Component::deserialize(engine, bytes) },
            // SAFETY: in both cases the bytes come from there too, with a MAC that only this user's key makes. Files of
            // the cache are never written again, only removed; and nobody else can write there, or is this user and
            // needs no detour. The path leads to the open file, whatever its name leads to now.
            Self::Cached(file, bytes) => unsafe {
                // There are file systems whose files cannot be run.
                Component::deserialize_file(engine, format!("/dev/fd/{}", file.as_raw_fd()))
                    .or_else(|_| Component::deserialize(engine, bytes))
            },
        }
    }
}
