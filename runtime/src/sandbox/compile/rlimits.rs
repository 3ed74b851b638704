//! The limits that a compiling process sets for itself before it reads untrusted bytes.
//!
//! The component decides what the compiler needs. So the system bounds memory, time, files and core dumps by limits
//! that cannot be raised again. The parent bounds the threads, since the system counts threads for the whole user. The
//! niceness is 10 and not 19: calls get about ten times the processor time, and a machine that is always busy still
//! compiles its plugins within `compile_ms`.

use std::path::Path;

use rustix::process::{Resource, Rlimit, getpriority_process, getrlimit, setpriority_process, setrlimit};

/// Address space of the program itself before it compiles anything, most of it mapped and not used.
const PROGRAM: u64 = 4 << 30;

/// Data of the program itself.
const DATA: u64 = 64 << 20;

/// Open files: the three pipes, and what the C library opens for a moment.
const FILES: u64 = 16;

const NICE: i32 = 10;

/// The limits of one compiling process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rlimits {
    /// Memory, bytes.
    pub(super) memory: u64,
    /// Processor time, seconds. The parent's clock is the limit; this holds if the parent cannot act.
    pub(super) cpu: u64,
}

impl Rlimits {
    /// Sets the limits for this process, for good.
    pub(super) fn apply(self) -> std::io::Result<()> {
        close_inherited()?;
        rustix::thread::set_no_new_privs(true)?;
        // A machine without memory ends this process and not the server. Some containers have no such file.
        let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
        // One byte and not zero: with a limit of one byte, Linux does not pipe a dump to a program either.
        bound(Resource::Core, 1)?;
        bound(Resource::Fsize, 0)?;
        bound(Resource::Nofile, FILES)?;
        bound(Resource::Cpu, self.cpu)?;
        bound(Resource::Data, self.memory.saturating_add(DATA))?;
        bound(Resource::As, self.memory.saturating_add(PROGRAM))?;
        if getpriority_process(None).is_ok_and(|niceness| niceness < NICE) {
            setpriority_process(None, NICE)?;
        }
        Ok(())
    }
}

/// Lowers a limit. A limit that is lower already stays.
fn bound(resource: Resource, max: u64) -> std::io::Result<()> {
    let max = getrlimit(resource).maximum.map_or(max, |hard| hard.min(max));
    Ok(setrlimit(resource, Rlimit { current: Some(max), maximum: Some(max) })?)
}

/// Closes files that the server inherited from its own parent without close-on-exec. The server's own files have it.
#[expect(unsafe_code, reason = "only the system knows which files are open")]
fn close_inherited() -> std::io::Result<()> {
    let folder = Path::new("/proc/self/fd");
    let listed: Vec<i32> = std::fs::read_dir(folder)?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|number| *number > 2)
        .collect();
    // The list itself was open while it was read.
    let open = |number: &i32| folder.join(number.to_string()).symlink_metadata().is_ok();
    for number in listed.into_iter().filter(open) {
        // SAFETY: it is open, and nothing in this process, which has one thread so far, has opened a file that it would
        // use later.
        unsafe { rustix::io::close(number) };
    }
    Ok(())
}
