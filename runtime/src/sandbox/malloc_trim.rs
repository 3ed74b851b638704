//! Controls how glibc's allocator reuses free memory, and when it returns free memory to the system.
//!
//! Two problems have to be avoided. By default, the allocator keeps freed memory: after a burst of large bodies and
//! results, a process of 60 MiB keeps 400 MiB as long as it lives. But if memory is returned after every message or
//! instance, it has to be fetched again, page by page, for the next one; that took more time than everything else that
//! was done for a message of 64 KiB. So free memory is reused, and what is free every few seconds is returned. Only
//! blocks that are larger than most messages are mapped separately and unmapped when they are freed. Other allocators
//! need none of this. `docs/decisions/0023-memory.md` has the measurements.

use std::time::Duration;

/// Time between two calls of [`trim_heap`].
pub const TRIM_INTERVAL: Duration = Duration::from_secs(5);

/// Makes the allocator reuse free memory until it is trimmed, and map large blocks separately. To be called once, at
/// the start.
pub fn set_malloc_thresholds() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::set_thresholds();
}

/// Returns free memory to the system. Takes 50 µs if there is none, and about 25 ms for 100 MiB.
pub fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::trim();
}

/// Free memory that never goes back to the system, at most, in bytes.
#[must_use]
pub fn kept_heap() -> u64 {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    return glibc::kept();
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    0
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::ffi::c_int;
    use std::num::NonZeroUsize;

    /// `M_MMAP_THRESHOLD` of `malloc.h`.
    const MMAP_THRESHOLD: c_int = -3;

    /// `M_TRIM_THRESHOLD` of `malloc.h`.
    const TRIM_THRESHOLD: c_int = -1;

    /// How much free memory stays at the end of an arena, in bytes: more than the instances of one call take, and more
    /// than most copies of a message of 1 MiB. glibc's default is 128 KiB. `malloc_trim` returns free memory between
    /// blocks, but the end only of the first arena; at the ends of other arenas this much stays as long as the server
    /// runs.
    const TRIM_THRESHOLD_BYTES: c_int = 4 << 20;

    /// `M_ARENA_MAX` of `malloc.h`.
    const ARENA_MAX: c_int = -8;

    /// Arenas for each processor. glibc would make eight, and what stays at their ends is more than a small server takes
    /// otherwise. No more threads than processors allocate at once.
    const ARENAS: usize = 2;

    /// The minimum size of a block that is mapped separately, in bytes. Setting it keeps glibc from raising it by
    /// itself, up to 32 MiB.
    const MMAP_THRESHOLD_BYTES: c_int = 4 << 20;

    #[expect(unsafe_code, reason = "no maintained crate has these two functions of the C library")]
    // SAFETY: the signatures are those of `malloc.h` of glibc.
    unsafe extern "C" {
        /// Sets a parameter of the allocator.
        safe fn mallopt(parameter: c_int, value: c_int) -> c_int;
        /// Gives memory back to the system; locks each arena, and may be called from any thread.
        safe fn malloc_trim(keep: usize) -> c_int;
    }

    pub(super) fn set_thresholds() {
        mallopt(MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
        mallopt(TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES);
        mallopt(ARENA_MAX, arenas());
    }

    fn arenas() -> c_int {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        c_int::try_from(ARENAS.saturating_mul(processors)).unwrap_or(c_int::MAX)
    }

    pub(super) fn kept() -> u64 {
        u64::from(arenas().unsigned_abs()) * u64::from(TRIM_THRESHOLD_BYTES.unsigned_abs())
    }

    pub(super) fn trim() {
        malloc_trim(0);
    }
}
