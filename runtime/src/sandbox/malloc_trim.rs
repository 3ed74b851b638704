//! How glibc's allocator reuses free memory, and when it gives it back to the system.
//!
//! Two faults have to be avoided. Left alone, that allocator keeps freed memory: after a burst of large bodies and
//! results a process of 60 MiB has 400 MiB for as long as it lives. And memory that goes back after every message or
//! instance is fetched again, page by page, for the next one: that took more time than all else that was done for a
//! message of 64 KiB. So free memory is reused, and every few seconds what is free then is given back. Only blocks that
//! are larger than most messages are mapped one by one and unmapped when they are freed. Other allocators do all that
//! by themselves. `docs/decisions/0023-memory.md` has the measurements.

use std::time::Duration;

/// Time between two calls of [`trim_heap`].
pub const TRIM_INTERVAL: Duration = Duration::from_secs(5);

/// Makes the allocator reuse free memory until it is trimmed, and map large blocks one by one. To be called once, at
/// the start.
pub fn set_malloc_thresholds() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::set_thresholds();
}

/// Gives free memory back: takes 50 µs when there is none, some 25 ms for 100 MiB.
pub fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::trim();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::ffi::c_int;

    /// `M_MMAP_THRESHOLD` of `malloc.h`.
    const MMAP_THRESHOLD: c_int = -3;

    /// `M_TRIM_THRESHOLD` of `malloc.h`.
    const TRIM_THRESHOLD: c_int = -1;

    /// Free memory that stays at the end of an arena, bytes: more than the instances of one call take, and most copies
    /// of a message of 1 MiB. glibc would keep 128 KiB. `malloc_trim` gives back what is free between blocks, and this
    /// end of the first arena only, so it stays as long as the server runs. There are at most eight arenas for each
    /// processor.
    const KEPT: c_int = 4 << 20;

    /// Smallest large block, bytes. Once it is set, glibc no longer raises it by itself, up to 32 MiB.
    const LARGE: c_int = 4 << 20;

    #[expect(unsafe_code, reason = "no maintained crate has these two functions of the C library")]
    // SAFETY: the signatures are those of `malloc.h` of glibc.
    unsafe extern "C" {
        /// Sets a parameter of the allocator.
        safe fn mallopt(parameter: c_int, value: c_int) -> c_int;
        /// Gives memory back to the system; locks each arena, and may be called from any thread.
        safe fn malloc_trim(keep: usize) -> c_int;
    }

    pub(super) fn set_thresholds() {
        mallopt(MMAP_THRESHOLD, LARGE);
        mallopt(TRIM_THRESHOLD, KEPT);
    }

    pub(super) fn trim() {
        malloc_trim(0);
    }
}
