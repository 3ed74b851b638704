//! Writes to files under a quota. Each write waits for the lock of the quota, and a write that would exceed the quota
//! fails before it happens.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::Bytes;

use super::open_files::OpenDescriptor;
use crate::capability::PluginCtx;
use crate::capability::filesystem::quota::{ChangeError, Quota};
use crate::capability::host_support::denial_log::DenialLog;
use crate::sandbox::HostFuel;

/// Where something is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum WritePosition {
    Offset(u64),
    End,
}

/// A file that a guest may change.
#[derive(Clone)]
pub(super) struct WritableFile {
    pub(super) file: Arc<File>,
    pub(super) opened: OpenDescriptor,
    pub(super) quota: Arc<Quota>,
    pub(super) host_fuel: HostFuel,
    pub(super) plugin: Arc<PluginCtx>,
    pub(super) denials: DenialLog,
}

impl WritableFile {
    /// Writes all of `bytes`.
    pub(super) async fn write(&self, bytes: Bytes, at: WritePosition) -> Result<u64, ChangeError> {
        let len = bytes.len() as u64;
        let after = move |before: u64| match at {
            WritePosition::Offset(offset) => before.max(offset.saturating_add(len)),
            WritePosition::End => before.saturating_add(len),
        };
        let act = move |file: &File, before| match at {
            WritePosition::Offset(offset) => file.write_all_at(&bytes, offset),
            WritePosition::End => append(file, &bytes, before),
        };
        self.change(after, act).await.map(|()| len)
    }

    /// Makes the file `size` bytes long.
    pub(super) async fn set_size(&self, size: u64) -> Result<(), ChangeError> {
        self.change(move |_| size, move |file, _| file.set_len(size)).await
    }

    async fn change<T: Send + 'static>(
        &self,
        after: impl FnOnce(u64) -> u64 + Send + 'static,
        act: impl FnOnce(&File, u64) -> io::Result<T> + Send + 'static,
    ) -> Result<T, ChangeError> {
        let thread = self.plugin.capabilities.filesystem.io.thread_permit().await?;
        let mut guard = self.quota.lock(&self.host_fuel).await;
        let file = Arc::clone(&self.file);
        let work = move || guard.change(&file, after, |before| act(&file, before));
        let done = thread.run(work).await?;
        if let Err(ChangeError::Over(exceeded)) = &done {
            let (requested, hint) = self.opened.granted_dir.quota_hint(exceeded);
            self.denials.record_denied(&self.plugin, &requested, &hint);
        }
        done
    }
}

/// Writes at the end, wherever that is by now: others may append to the same file.
#[cfg(target_os = "linux")]
fn append(file: &File, bytes: &[u8], _: u64) -> io::Result<()> {
    use rustix::io::{ReadWriteFlags, pwritev2};
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = pwritev2(file, &[io::IoSlice::new(rest)], 0, ReadWriteFlags::APPEND)?;
        rest = rest.get(written..).unwrap_or_default();
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn append(file: &File, bytes: &[u8], end: u64) -> io::Result<()> {
    file.write_all_at(bytes, end)
}
