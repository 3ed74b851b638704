//! Memory that is free goes back to the system.
//!
//! The allocator of glibc keeps what was freed: after a burst of large bodies and results a process of 60 MiB holds 400
//! for as long as it lives. Large blocks are taken from the system one by one, and so given back when they are freed;
//! the rest is given back every few seconds. `docs/decisions/0023-memory.md` has what was measured. Elsewhere the
//! allocators do it by themselves.

use std::time::Duration;

/// How often.
pub const TRIM_INTERVAL: Duration = Duration::from_secs(5);

/// Has large blocks taken from the system one by one. To be said once, at the start.
pub fn set_mmap_threshold() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::map_large_blocks();
}

/// Gives back what is free: 50 µs when there is nothing, some 25 ms for 100 MiB.
pub fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::trim();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::ffi::c_int;

    /// `M_MMAP_THRESHOLD` of `malloc.h`.
    const MMAP_THRESHOLD: c_int = -3;

    /// From this size on a block is large. Setting it keeps glibc from raising it by itself, up to 32 MiB.
    const LARGE: c_int = 256 << 10;

    #[expect(unsafe_code, reason = "no crate that is kept up offers these two functions of the C library")]
    // SAFETY: the signatures are those of `malloc.h` of glibc.
    unsafe extern "C" {
        /// Sets a parameter of the allocator.
        safe fn mallopt(parameter: c_int, value: c_int) -> c_int;
        /// Gives memory back to the system; locks what it looks at, and may be called from any thread.
        safe fn malloc_trim(keep: usize) -> c_int;
    }

    pub(super) fn map_large_blocks() {
        mallopt(MMAP_THRESHOLD, LARGE);
    }

    pub(super) fn trim() {
        malloc_trim(0);
    }
}
