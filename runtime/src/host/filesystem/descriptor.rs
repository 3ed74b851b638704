//! `wasi:filesystem/types`: the functions of a descriptor. What reads is passed on; what opens, creates or grows is counted.

use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntryStream, ErrorCode, Filesize,
    HostDescriptor, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use super::State;
use super::growing::{At, Target};
use super::library::library;
use super::open_files::Place;
use super::opening::Wanted;
use super::reading::Reading;
use super::writing::Writing;
use crate::sandbox::ChangeError;

type Fd = Resource<Descriptor>;

/// Functions that are the library's own.
macro_rules! passed_on {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(async fn $name(&mut self, fd: Fd, $($arg: $type),*) -> FsResult<$result> {
            self.pass(&fd, async move |library, fd| HostDescriptor::$name(library, fd, $($arg),*).await).await
        })*
    };
}

/// The same with a path.
macro_rules! passed_on_with_path {
    ($($name:ident($($flags:ident: $type:ty)?) -> $result:ty;)*) => {
        $(async fn $name(&mut self, fd: Fd, $($flags: $type,)? path: String) -> FsResult<$result> {
            self.on_path(&path).await?;
            self.pass(&fd, async move |library, fd| HostDescriptor::$name(library, fd, $($flags,)? path).await).await
        })*
    };
}

/// The same, where an operation is charged: they change something, though nothing grows.
macro_rules! charged {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {
        $(async fn $name(&mut self, fd: Fd, $($arg: $type),*) -> FsResult<()> {
            self.operation(0).await?;
            self.pass(&fd, async move |library, fd| HostDescriptor::$name(library, fd, $($arg),*).await).await
        })*
    };
}

impl HostDescriptor for State {
    passed_on! {
        get_flags() -> DescriptorFlags;
        get_type() -> DescriptorType;
        read(len: Filesize, offset: Filesize) -> (Vec<u8>, bool);
        stat() -> DescriptorStat;
        metadata_hash() -> MetadataHashValue;
        advise(offset: Filesize, len: Filesize, advice: Advice) -> ();
    }

    passed_on_with_path! {
        stat_at(flags: PathFlags) -> DescriptorStat;
        readlink_at() -> String;
        metadata_hash_at(flags: PathFlags) -> MetadataHashValue;
    }

    charged! {
        sync();
        sync_data();
        set_times(accessed: NewTimestamp, modified: NewTimestamp);
    }

    async fn is_same_object(&mut self, one: Fd, other: Fd) -> wasmtime::Result<bool> {
        self.same(&one, &other).await
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        self.on_paths(&[&path]).await?;
        self.pass(&fd, async move |library, fd| {
            HostDescriptor::set_times_at(library, fd, flags, path, accessed, modified).await
        })
        .await
    }

    async fn set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        self.operation(0).await?;
        let target = self.target(&fd)?;
        target.set_size(size).await.map_err(refused)
    }

    async fn write(&mut self, fd: Fd, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        self.operation(bytes.len()).await?;
        let target = self.target(&fd)?;
        target.write(bytes.into(), At::Offset(offset)).await.map_err(refused)
    }

    fn read_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.meter.note_call();
        let of = self.files.get(&fd)?.clone();
        let file = match self.table.get(&fd)? {
            Descriptor::File(file) => Arc::clone(&file.file),
            Descriptor::Dir(_) => return Err(ErrorCode::IsDirectory.into()),
        };
        let place = self.files.stream_place();
        let place = self.seated(place)?;
        let reading: DynInputStream = Box::new(Reading::new(file, offset, &self.shared, (of, place)));
        Ok(self.table.push(reading)?)
    }

    fn write_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynOutputStream>> {
        self.writing(&fd, At::Offset(offset))
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        self.writing(&fd, At::End)
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<DirectoryEntryStream>> {
        self.operation(0).await?;
        self.list(&fd).await
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.on_paths(&[&path]).await?;
        self.change([&fd], |turn, [dir]| {
            turn.make(true, || {
                library([dir], async |library, [dir]| {
                    HostDescriptor::create_directory_at(library, dir, path).await
                })
            })
        })
        .await
    }

    async fn link_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        old: String,
        new_fd: Fd,
        new: String,
    ) -> FsResult<()> {
        self.on_paths(&[&old, &new]).await?;
        self.change([&fd, &new_fd], move |turn, both| {
            turn.make(false, || {
                library(both, async |library, [from, to]| {
                    HostDescriptor::link_at(library, from, flags, old, to, new).await
                })
            })
        })
        .await
    }

    async fn rename_at(&mut self, fd: Fd, old: String, new_fd: Fd, new: String) -> FsResult<()> {
        self.on_paths(&[&old, &new]).await?;
        self.change([&fd, &new_fd], |turn, both| {
            let moved = library(both, async |library, [from, to]| {
                HostDescriptor::rename_at(library, from, old, to, new).await
            });
            // What had the new name is gone.
            turn.release();
            Ok(moved)
        })
        .await
    }

    /// Links are never made: a guest has no use for them that a copy would not serve, while another program of the host
    /// that follows one leaves the directory.
    async fn symlink_at(&mut self, _: Fd, old: String, new: String) -> FsResult<()> {
        self.on_paths(&[&old, &new]).await?;
        Err(ErrorCode::NotPermitted.into())
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.on_paths(&[&path]).await?;
        self.change([&fd], |turn, [dir]| {
            let gone = library([dir], async |library, [dir]| {
                HostDescriptor::unlink_file_at(library, dir, path).await
            });
            turn.release();
            Ok(gone)
        })
        .await
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.on_paths(&[&path]).await?;
        self.change([&fd], |turn, [dir]| {
            let gone = library([dir], async |library, [dir]| {
                HostDescriptor::remove_directory_at(library, dir, path).await
            });
            turn.release();
            Ok(gone)
        })
        .await
    }

    async fn open_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        self.on_paths(&[&path]).await?;
        self.open(fd, Wanted { follow, path, how, flags }).await
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        let gone = self.files.remove(fd.rep());
        HostDescriptor::drop(&mut self.filesystem(), fd)?;
        if let Some(quota) = gone.and_then(|opened| opened.reach.quota.clone()) {
            quota.release();
        }
        Ok(())
    }
}

impl State {
    /// A file that the guest may change.
    pub(super) fn target(&mut self, fd: &Fd) -> FsResult<Target> {
        let file = match self.table.get(fd)? {
            Descriptor::File(file) => file,
            Descriptor::Dir(_) => return Err(ErrorCode::BadDescriptor.into()),
        };
        let opened = self.files.get(fd)?.clone();
        let quota = opened.reach.quota.clone().filter(|_| !file.perms.write_not_permitted());
        Ok(Target {
            file: file.file.clone(),
            quota: quota.ok_or(ErrorCode::NotPermitted)?,
            opened,
            meter: self.meter.clone(),
            shared: self.shared.clone(),
            denials: self.denials.clone(),
        })
    }

    fn writing(&mut self, fd: &Fd, at: At) -> FsResult<Resource<DynOutputStream>> {
        let target = self.target(fd)?;
        let place = self.files.stream_place();
        let place = self.seated(place)?;
        let writing: DynOutputStream = Box::new(Writing::new(target, at, place));
        Ok(self.table.push(writing)?)
    }

    /// A place for another file.
    pub(super) fn place(&mut self) -> FsResult<Place> {
        let place = self.files.place();
        self.seated(place)
    }

    /// Notes that there is no place, once.
    fn seated(&mut self, place: Result<Place, ErrorCode>) -> FsResult<Place> {
        if place.is_err() && self.files.first_full() {
            let most = self.shared.config.limits.open_files;
            self.logs.note(&format!("it has {most} files open and wanted more (limit `open_files`)"));
        }
        Ok(place?)
    }
}

/// What the guest hears of a change that did not happen.
pub(super) fn refused(error: ChangeError) -> FsError {
    match error {
        ChangeError::Over(_) => ErrorCode::Quota.into(),
        ChangeError::Io(error) => error.into(),
    }
}
