//! `wasi:filesystem/types`: the functions of a descriptor. What reads is passed on; what opens, creates or grows is counted.

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntryStream, ErrorCode, Filesize,
    HostDescriptor, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use super::State;
use super::growing::{At, Target};
use super::open_files::Place;
use super::reading::Reading;
use super::writing::Writing;
use crate::sandbox::ChangeError;

type Fd = Resource<Descriptor>;

/// Functions that are the library's own.
macro_rules! passed_on {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(async fn $name(&mut self, fd: Fd, $($arg: $type),*) -> $result {
            HostDescriptor::$name(&mut self.filesystem(), fd, $($arg),*).await
        })*
    };
}

/// The same, where an operation is charged: they change something, though nothing grows.
macro_rules! charged {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(async fn $name(&mut self, fd: Fd, $($arg: $type),*) -> $result {
            self.operation(0).await?;
            let done = HostDescriptor::$name(&mut self.filesystem(), fd, $($arg),*).await?;
            Ok(done)
        })*
    };
}

impl HostDescriptor for State {
    passed_on! {
        get_flags() -> FsResult<DescriptorFlags>;
        get_type() -> FsResult<DescriptorType>;
        read(len: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)>;
        stat() -> FsResult<DescriptorStat>;
        stat_at(flags: PathFlags, path: String) -> FsResult<DescriptorStat>;
        readlink_at(path: String) -> FsResult<String>;
        is_same_object(other: Fd) -> wasmtime::Result<bool>;
        metadata_hash() -> FsResult<MetadataHashValue>;
        metadata_hash_at(flags: PathFlags, path: String) -> FsResult<MetadataHashValue>;
        advise(offset: Filesize, len: Filesize, advice: Advice) -> FsResult<()>;
    }

    charged! {
        sync() -> FsResult<()>;
        sync_data() -> FsResult<()>;
        set_times(accessed: NewTimestamp, modified: NewTimestamp) -> FsResult<()>;
        set_times_at(flags: PathFlags, path: String, accessed: NewTimestamp, modified: NewTimestamp) -> FsResult<()>;
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
        let file = self.files.get(&fd)?.clone();
        let place = self.files.stream_place();
        let place = self.seated(place)?;
        let stream = HostDescriptor::read_via_stream(&mut self.filesystem(), fd, offset)?;
        let inner = self.table.delete(stream)?;
        let reading: DynInputStream = Box::new(Reading { inner, _file: file, _stream: place });
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
        self.operation(path.len()).await?;
        let Some(quota) = self.files.get(&fd)?.reach.quota.clone() else {
            return Err(ErrorCode::NotPermitted.into());
        };
        let turn = quota.turn(&self.meter).await;
        let mut turn = self.counted(&fd, turn, true).await?;
        let made = HostDescriptor::create_directory_at(&mut self.filesystem(), fd, path).await;
        if made.is_err() {
            turn.not_created(true);
        }
        made
    }

    async fn link_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        old: String,
        new_fd: Fd,
        new: String,
    ) -> FsResult<()> {
        self.operation(old.len() + new.len()).await?;
        let Some(quota) = self.one_grant(&fd, &new_fd)? else {
            return Err(ErrorCode::NotPermitted.into());
        };
        let turn = quota.turn(&self.meter).await;
        let mut turn = self.counted(&fd, turn, false).await?;
        let made = HostDescriptor::link_at(&mut self.filesystem(), fd, flags, old, new_fd, new).await;
        if made.is_err() {
            turn.not_created(false);
        }
        made
    }

    async fn rename_at(&mut self, fd: Fd, old: String, new_fd: Fd, new: String) -> FsResult<()> {
        self.operation(old.len() + new.len()).await?;
        let Some(quota) = self.one_grant(&fd, &new_fd)? else {
            return Err(ErrorCode::NotPermitted.into());
        };
        HostDescriptor::rename_at(&mut self.filesystem(), fd, old, new_fd, new).await?;
        // What had the new name is gone.
        quota.release();
        Ok(())
    }

    /// Links are never made: a guest has no use for them that a copy would not serve, while another program of the host
    /// that follows one leaves the directory.
    async fn symlink_at(&mut self, _: Fd, old: String, new: String) -> FsResult<()> {
        self.operation(old.len() + new.len()).await?;
        Err(ErrorCode::NotPermitted.into())
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.operation(path.len()).await?;
        let quota = self.files.get(&fd)?.reach.quota.clone();
        HostDescriptor::unlink_file_at(&mut self.filesystem(), fd, path).await?;
        quota.iter().for_each(|quota| quota.release());
        Ok(())
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.operation(path.len()).await?;
        let quota = self.files.get(&fd)?.reach.quota.clone();
        HostDescriptor::remove_directory_at(&mut self.filesystem(), fd, path).await?;
        quota.iter().for_each(|quota| quota.release());
        Ok(())
    }

    async fn open_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        self.operation(path.len()).await?;
        self.open(fd, super::opening::Wanted { follow, path, how, flags }).await
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
