//! Lists a directory a part at a time, so that a million names are never in memory at once.

use std::collections::VecDeque;

use rustix::fs::{AtFlags, Dir, DirEntry, FileType, statat};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorType, DirectoryEntry, DirectoryEntryStream, ErrorCode, HostDirectoryEntryStream,
};

use super::open_files::FilePermit;
use super::{InstanceCtx, blocking};

/// Names that are read at once.
const PART: usize = 256;

/// A directory that is being listed: what a handle of the type `DirectoryEntryStream` refers to.
pub(super) struct ReadDir {
    dir: Option<Dir>,
    read: VecDeque<Result<DirectoryEntry, ErrorCode>>,
    _permit: FilePermit,
}

impl InstanceCtx {
    /// Begins to list a directory.
    pub(super) async fn read_dir(
        &mut self,
        fd: &Resource<Descriptor>,
    ) -> FsResult<Resource<DirectoryEntryStream>> {
        let dir = match self.table.get(fd)? {
            Descriptor::Dir(dir) => dir.dir.clone(),
            Descriptor::File(_) => return Err(ErrorCode::NotDirectory.into()),
        };
        let permit = self.file_permit()?;
        let dir =
            blocking(&self.plugin, move || Dir::read_from(&*dir)).await?.map_err(std::io::Error::from)?;
        let entries = ReadDir { dir: Some(dir), read: VecDeque::new(), _permit: permit };
        Ok(Resource::new_own(self.table.push(entries)?.rep()))
    }
}

impl HostDirectoryEntryStream for InstanceCtx {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let stream = Resource::<ReadDir>::new_borrow(stream.rep());
        let entries = self.table.get_mut(&stream)?;
        if entries.read.is_empty()
            && let Some(mut dir) = entries.dir.take()
        {
            self.charge_operation(0).await?;
            let part = move || {
                let read: VecDeque<_> = std::iter::from_fn(|| next(&mut dir)).take(PART).collect();
                (read, dir)
            };
            let (read, dir) = blocking(&self.plugin, part).await?;
            let entries = self.table.get_mut(&stream)?;
            entries.dir = (read.len() == PART).then_some(dir);
            entries.read = read;
        }
        let next = self.table.get_mut(&stream)?.read.pop_front().transpose()?;
        let size = next.as_ref().map_or(0, |entry| entry.name.len());
        self.host_fuel.charge(size).await.map_err(super::exhausted)?;
        Ok(next)
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<ReadDir>::new_own(stream.rep()))?;
        Ok(())
    }
}

/// The next entry of a directory other than itself and its parent.
fn next(dir: &mut Dir) -> Option<Result<DirectoryEntry, ErrorCode>> {
    loop {
        match dir.read()? {
            Err(error) => return Some(Err(std::io::Error::from(error).into())),
            Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
            Ok(entry) => return Some(directory_entry(dir, &entry)),
        }
    }
}

fn directory_entry(dir: &Dir, entry: &DirEntry) -> Result<DirectoryEntry, ErrorCode> {
    let name = entry.file_name().to_str().map_err(|_| ErrorCode::IllegalByteSequence)?.to_owned();
    let kind = match entry.file_type() {
        // Some file systems do not report the type with the name.
        FileType::Unknown => dir
            .fd()
            .and_then(|dir| statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW))
            .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
        kind => kind,
    };
    let type_ = match kind {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::Fifo => DescriptorType::Fifo,
        FileType::Socket => DescriptorType::Socket,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        _ => DescriptorType::Unknown,
    };
    Ok(DirectoryEntry { type_, name })
}
