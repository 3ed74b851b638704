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

/// Free memory that never goes back to the system, at most, in bytes.
pub const KEPT_HEAP: u64 = if cfg!(all(target_os = "linux", target_env = "gnu")) { 16 << 20 } else { 0 };

/// Makes the allocator reuse free memory until it is trimmed, and map large blocks separately. To be called once, and
/// before there are other threads: each would have made an arena, however many there may be later.
pub fn set_malloc_thresholds() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::set_thresholds();
}

/// Returns free memory to the system. Takes 50 µs if there is none, and about 25 ms for 100 MiB.
pub fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::trim();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::ffi::c_int;
    use std::num::NonZeroUsize;

    /// `M_MMAP_THRESHOLD` of `malloc.h`.
    const MMAP_THRESHOLD: c_int = -3;

    /// `M_TRIM_THRESHOLD` of `malloc.h`.
    const TRIM_THRESHOLD: c_int = -1;

    /// How much free memory stays at the end of an arena at most, in bytes: more than the instances of one call take,
    /// and more than most copies of a message of 1 MiB. `malloc_trim` returns free memory between blocks, but the end
    /// only of the first arena; what is at the ends of other arenas stays as long as the server runs. So all ends
    /// together have [`KEPT_HEAP`](super::KEPT_HEAP).
    const MAX_KEPT: c_int = 4 << 20;

    /// glibc's default.
    const MIN_KEPT: c_int = 128 << 10;

    /// `M_ARENA_MAX` of `malloc.h`.
    const ARENA_MAX: c_int = -8;

    /// Arenas for each processor, as long as the end of each may have [`MIN_KEPT`]. glibc would make eight. Threads
    /// beyond this number share an arena, and may wait for each other.
    const ARENAS: c_int = 2;

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
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let (arenas, kept) = arenas(c_int::try_from(processors).unwrap_or(c_int::MAX));
        mallopt(ARENA_MAX, arenas);
        mallopt(TRIM_THRESHOLD, kept);
    }

    /// The maximum number of arenas, and what the end of each may keep.
    fn arenas(processors: c_int) -> (c_int, c_int) {
        let kept = c_int::try_from(super::KEPT_HEAP).unwrap_or(c_int::MAX);
        let arenas = processors.saturating_mul(ARENAS).clamp(1, kept / MIN_KEPT);
        (arenas, (kept / arenas).min(MAX_KEPT))
    }

    pub(super) fn trim() {
        malloc_trim(0);
    }

    #[cfg(test)]
    mod tests {
        use super::super::KEPT_HEAP;
        use super::*;

        #[test]
        fn the_ends_of_all_arenas_keep_no_more_on_a_large_machine() {
            assert_eq!(arenas(1), (2, 4 << 20));
            assert_eq!(arenas(2), (4, 4 << 20));
            assert_eq!(arenas(8), (16, 1 << 20));
            for processors in [1, 2, 3, 7, 64, 1_000, c_int::MAX] {
                let (arenas, kept) = arenas(processors);
                assert!(arenas >= 2 && kept >= MIN_KEPT, "{processors}: {arenas} arenas of {kept}");
                assert!(i64::from(arenas) * i64::from(kept) <= KEPT_HEAP.cast_signed(), "{processors}");
            }
        }
    }
}
