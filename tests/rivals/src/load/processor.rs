//! The processor on which the load generator runs.

use anyhow::{Context as _, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Confines this thread, which is the only one of the process, to the last processor that it may use.
pub fn confine_to_last() -> Result<()> {
    let usable = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|processor| usable.is_set(*processor));
    let mut only = CpuSet::new();
    only.set(last.context("the system names no processor")?);
    Ok(sched_setaffinity(None, &only)?)
}
