//! Turns bytes into machine code of this process. No other module does.
//!
//! Wasmtime checks only the header of compiled code and runs the rest. So bytes that may be run have their own type,
//! [`MachineCode`], which is made in only two places: from the reply of a compiling process, and from a file of the
//! cache whose MAC is valid. A file is mapped and not copied: code that never runs then takes no memory, and servers
//! that share a cache share the memory of its files.

use std::fs::File;
use std::os::fd::AsRawFd as _;

use wasmtime::Engine;
use wasmtime::component::Component;

/// Machine code that this program's compiler made.
#[derive(Debug)]
pub(super) enum MachineCode {
    /// The reply of a compiler.
    Compiled(Vec<u8>),
    /// An open file of the cache, whose MAC was verified. wasmtime ignores the bytes after the code.
    Cached(File),
    /// The code from a file of the cache, whose MAC was verified, in memory.
    CachedBytes(Vec<u8>),
}

impl MachineCode {
    /// Loads the code as a component. Code for another version or other settings is rejected.
    #[expect(unsafe_code, reason = "wasmtime cannot check compiled code; the type says where it comes from")]
    pub(super) fn load(&self, engine: &Engine) -> wasmtime::Result<Component> {
        match self {
            // SAFETY: the bytes come from `Engine::precompile_component` of this program and are in this process's own
            // memory. Those from the cache have a MAC that only this user's key can make.
            Self::Compiled(bytes) | Self::CachedBytes(bytes) => unsafe {
                Component::deserialize(engine, bytes)
            },
            // SAFETY: the bytes come from the same function, with the same MAC. Files of the cache are never
            // overwritten, only removed, and only this user, who can run anything anyway, can write there. The path
            // leads to the open file, even if the file's name belongs to another file by now.
            Self::Cached(file) => unsafe {
                Component::deserialize_file(engine, format!("/dev/fd/{}", file.as_raw_fd()))
            },
        }
    }
}
