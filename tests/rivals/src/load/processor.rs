//! The processor on which the load generator runs.

use anyhow::Result;

/// Confines this thread, which is the only one of the process, to the last processor that it may use.
#[cfg(target_os = "linux")]
pub fn confine_to_last() -> Result<()> {
    use anyhow::Context as _;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let usable = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|processor| usable.is_set(*processor));
    let mut only = CpuSet::new();
    only.set(last.context("the system names no processor")?);
    Ok(sched_setaffinity(None, &only)?)
}

/// Other systems place threads themselves.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "Linux can refuse")]
pub fn confine_to_last() -> Result<()> {
    Ok(())
}
