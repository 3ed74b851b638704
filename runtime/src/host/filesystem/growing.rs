//! Changing a file's contents: each change waits for its turn, and what has no room is refused before it happens.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::Bytes;

use super::open_files::Opened;
use crate::host::denials::Denials;
use crate::host::shared::Shared;
use crate::sandbox::{ChangeError, Meter, Quota};

/// Where something is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum At {
    Offset(u64),
    End,
}

/// A file that a guest may change.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) file: Arc<File>,
    pub(super) opened: Opened,
    pub(super) quota: Arc<Quota>,
    pub(super) meter: Meter,
    pub(super) shared: Arc<Shared>,
    pub(super) denials: Denials,
}

impl Target {
    /// Writes all of `bytes`.
    pub(super) async fn write(&self, bytes: Bytes, at: At) -> Result<u64, ChangeError> {
        let len = bytes.len() as u64;
        let after = move |before: u64| match at {
            At::Offset(offset) => before.max(offset.saturating_add(len)),
            At::End => before.saturating_add(len),
        };
        let act = move |file: &File, before| match at {
            At::Offset(offset) => file.write_all_at(&bytes, offset),
            At::End => append(file, &bytes, before),
        };
        self.change(after, act).await.map(|()| len)
    }

    /// Makes it this long.
    pub(super) async fn set_size(&self, size: u64) -> Result<(), ChangeError> {
        self.change(move |_| size, move |file, _| file.set_len(size)).await
    }

    async fn change<T: Send + 'static>(
        &self,
        after: impl FnOnce(u64) -> u64 + Send + 'static,
        act: impl FnOnce(&File, u64) -> io::Result<T> + Send + 'static,
    ) -> Result<T, ChangeError> {
        let thread = self.shared.file_work.thread().await?;
        let mut turn = self.quota.turn(&self.meter).await;
        let file = Arc::clone(&self.file);
        let work = move || turn.change(&file, after, |before| act(&file, before));
        let done = thread.run(work).await?;
        if let Err(ChangeError::Over(over)) = &done {
            let (wanted, allow) = self.opened.reach.words(over);
            self.denials.note(&self.shared, &wanted, &allow);
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
