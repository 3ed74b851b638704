//! The limits that a compiling process sets for itself before it reads untrusted bytes.
//!
//! The component determines what the compiler needs. So memory, time, files and core dumps are bounded by system limits
//! that the process cannot raise again. The parent limits the number of threads, because the system counts threads for
//! the whole user. The niceness is 10 and not 19: calls get about ten times as much processor time, but a machine that
//! is always busy still compiles its plugins within `compile_ms`.

use std::path::Path;

use rustix::process::{Resource, Rlimit, getpriority_process, getrlimit, setpriority_process, setrlimit};

/// The address space of the program before it compiles anything; most of it is mapped but not used.
const PROGRAM_ADDRESS_SPACE: u64 = 4 << 30;

/// The data memory of the program before it compiles anything.
const PROGRAM_DATA: u64 = 64 << 20;

/// Maximum number of open files: the three pipes, and files that the C library opens briefly.
const MAX_OPEN_FILES: u64 = 16;

const NICE: i32 = 10;

/// The limits of one compiling process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rlimits {
    /// Memory, in bytes.
    pub(super) memory: u64,
    /// Processor time, in seconds. Normally the parent's time-out ends the process; this limit applies if the parent
    /// cannot.
    pub(super) cpu: u64,
}

impl Rlimits {
    /// Sets the limits for this process permanently.
    pub(super) fn apply(self) -> std::io::Result<()> {
        close_inherited()?;
        rustix::thread::set_no_new_privs(true)?;
        // If the machine runs out of memory, it kills this process and not the server. Some containers do not have this
        // file.
        let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
        // The limit is one byte and not zero, because then Linux does not pipe a dump to a program either.
        bound(Resource::Core, 1)?;
        bound(Resource::Fsize, 0)?;
        bound(Resource::Nofile, MAX_OPEN_FILES)?;
        bound(Resource::Cpu, self.cpu)?;
        bound(Resource::Data, self.memory.saturating_add(PROGRAM_DATA))?;
        bound(Resource::As, self.memory.saturating_add(PROGRAM_ADDRESS_SPACE))?;
        if getpriority_process(None).is_ok_and(|niceness| niceness < NICE) {
            setpriority_process(None, NICE)?;
        }
        Ok(())
    }
}

/// Lowers a limit. A limit that is already lower stays.
fn bound(resource: Resource, max: u64) -> std::io::Result<()> {
    let max = getrlimit(resource).maximum.map_or(max, |hard| hard.min(max));
    Ok(setrlimit(resource, Rlimit { current: Some(max), maximum: Some(max) })?)
}

/// Closes files that the server inherited from its own parent without close-on-exec. The server's own files have that
/// flag.
#[expect(unsafe_code, reason = "only the system knows which files are open")]
fn close_inherited() -> std::io::Result<()> {
    let folder = Path::new("/proc/self/fd");
    let listed: Vec<i32> = std::fs::read_dir(folder)?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|number| *number > 2)
        .collect();
    // The list itself was open while it was read, so it must not be closed again.
    let open = |number: &i32| folder.join(number.to_string()).symlink_metadata().is_ok();
    for number in listed.into_iter().filter(open) {
        // SAFETY: the file is open. This process has only one thread so far, and it has opened no file that it uses
        // later.
        unsafe { rustix::io::close(number) };
    }
    Ok(())
}
