//! The one place where bytes become machine code of this process.
//!
//! Wasmtime checks only the head of compiled code and runs the rest. So bytes that may be run have a type of their own,
//! [`MachineCode`], and it is made in two places only: from the reply of a compiling process, and from a file of the
//! cache whose MAC is right. A file is mapped and not copied: code that never runs then takes no memory, and servers
//! that share a cache share its memory.

use std::fs::File;
use std::os::fd::AsRawFd as _;

use wasmtime::Engine;
use wasmtime::component::Component;

/// Machine code that this program's compiler made.
#[derive(Debug)]
pub(super) enum MachineCode {
    /// The reply of a compiler.
    Compiled(Vec<u8>),
    /// An open file of the cache whose MAC was verified; wasmtime ignores what follows the code.
    Cached(File),
    /// The same in memory: the code of a file of the cache whose MAC was verified.
    CachedBytes(Vec<u8>),
}

impl MachineCode {
    /// Makes it callable. Code of another version or of other settings is rejected.
    #[expect(unsafe_code, reason = "wasmtime cannot check compiled code; the type says where it comes from")]
    pub(super) fn load(&self, engine: &Engine) -> wasmtime::Result<Component> {
        match self {
            // SAFETY: the bytes come from `Engine::precompile_component` of this program, and are in memory of ours.
            // Those of the cache have a MAC that only this user's key makes.
            Self::Compiled(bytes) | Self::CachedBytes(bytes) => unsafe {
                Component::deserialize(engine, bytes)
            },
            // SAFETY: the bytes come from there too, with the same MAC. Files of the cache are never written again,
            // only removed; and only this user, who could run anything anyway, can write there. The path leads to the
            // open file, even if its name has another file now.
            Self::Cached(file) => unsafe {
                Component::deserialize_file(engine, format!("/dev/fd/{}", file.as_raw_fd()))
            },
        }
    }
}
