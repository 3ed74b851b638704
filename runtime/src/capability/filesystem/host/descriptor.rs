//! `wasi:filesystem/types`: the functions of a descriptor. Those that read are passed on to wasmtime-wasi; those that
//! open, create or grow something are counted.

use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntryStream, ErrorCode, Filesize,
    HostDescriptor, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsResult};

use super::input_stream::FileInputStream;
use super::open_at::OpenRequest;
use super::output_stream::FileOutputStream;
use super::quota_write::{WritableFile, WritePosition};
use super::wasi_blocking::run_wasi;
use super::{InstanceCtx, to_fs_error};

type Fd = Resource<Descriptor>;

/// Defines functions that only call the library's own.
macro_rules! passed_on {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(async fn $name(&mut self, fd: Fd, $($arg: $type),*) -> FsResult<$result> {
            self.pass(&fd, async move |view, fd| HostDescriptor::$name(view, fd, $($arg),*).await).await
        })*
    };
}

/// The same for functions that take a path.
macro_rules! passed_on_with_path {
    ($($name:ident($($flags:ident: $type:ty)?) -> $result:ty;)*) => {
        $(async fn $name(&mut self, fd: Fd, $($flags: $type,)? path: String) -> FsResult<$result> {
            self.charge_path(&path).await?;
            self.pass(&fd, async move |view, fd| HostDescriptor::$name(view, fd, $($flags,)? path).await).await
        })*
    };
}

/// The same for functions that change something without growing anything: they charge an operation.
macro_rules! charged {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {
        $(async fn $name(&mut self, fd: Fd, $($arg: $type),*) -> FsResult<()> {
            self.charge_operation(0).await?;
            self.pass(&fd, async move |view, fd| HostDescriptor::$name(view, fd, $($arg),*).await).await
        })*
    };
}

impl HostDescriptor for InstanceCtx {
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
        self.charge_path_operation(&[&path]).await?;
        self.pass(&fd, async move |view, fd| {
            HostDescriptor::set_times_at(view, fd, flags, path, accessed, modified).await
        })
        .await
    }

    async fn set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        self.charge_operation(0).await?;
        let target = self.writable_file(&fd)?;
        target.set_size(size).await.map_err(to_fs_error)
    }

    async fn write(&mut self, fd: Fd, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        self.charge_operation(bytes.len()).await?;
        let target = self.writable_file(&fd)?;
        target.write(bytes.into(), WritePosition::Offset(offset)).await.map_err(to_fs_error)
    }

    fn read_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.host_fuel.charge_call();
        let opened = self.capabilities.filesystem.get(&fd)?.clone();
        let file = match self.table.get(&fd)? {
            Descriptor::File(file) => Arc::clone(&file.file),
            Descriptor::Dir(_) => return Err(ErrorCode::IsDirectory.into()),
        };
        let permit = self.stream_permit()?;
        let stream: DynInputStream =
            Box::new(FileInputStream::new(file, offset, &self.plugin, (opened, permit)));
        Ok(self.table.push(stream)?)
    }

    fn write_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynOutputStream>> {
        self.output_stream(&fd, WritePosition::Offset(offset))
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        self.output_stream(&fd, WritePosition::End)
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<DirectoryEntryStream>> {
        self.charge_operation(0).await?;
        self.read_dir(&fd).await
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.charge_path_operation(&[&path]).await?;
        self.change([&fd], |guard, [dir]| {
            guard.make(true, || {
                run_wasi([dir], async |view, [dir]| {
                    HostDescriptor::create_directory_at(view, dir, path).await
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
        self.charge_path_operation(&[&old, &new]).await?;
        self.change([&fd, &new_fd], move |guard, both| {
            guard.make(false, || {
                run_wasi(both, async |view, [from, to]| {
                    HostDescriptor::link_at(view, from, flags, old, to, new).await
                })
            })
        })
        .await
    }

    async fn rename_at(&mut self, fd: Fd, old: String, new_fd: Fd, new: String) -> FsResult<()> {
        self.charge_path_operation(&[&old, &new]).await?;
        self.change([&fd, &new_fd], |guard, both| {
            let moved = run_wasi(both, async |view, [from, to]| {
                HostDescriptor::rename_at(view, from, old, to, new).await
            });
            // A file that had the new name is deleted.
            guard.release();
            Ok(moved)
        })
        .await
    }

    /// Links are never made: a copy serves a guest as well, while a link leads another program of the host that follows
    /// it out of the directory.
    async fn symlink_at(&mut self, _: Fd, old: String, new: String) -> FsResult<()> {
        self.charge_path_operation(&[&old, &new]).await?;
        Err(ErrorCode::NotPermitted.into())
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.charge_path_operation(&[&path]).await?;
        self.change([&fd], |guard, [dir]| {
            let removed =
                run_wasi([dir], async |view, [dir]| HostDescriptor::unlink_file_at(view, dir, path).await);
            guard.release();
            Ok(removed)
        })
        .await
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.charge_path_operation(&[&path]).await?;
        self.change([&fd], |guard, [dir]| {
            let removed = run_wasi([dir], async |view, [dir]| {
                HostDescriptor::remove_directory_at(view, dir, path).await
            });
            guard.release();
            Ok(removed)
        })
        .await
    }

    async fn open_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        self.charge_path_operation(&[&path]).await?;
        self.open(fd, OpenRequest { path_flags, path, open_flags, flags }).await
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        let removed = self.capabilities.filesystem.remove(fd.rep());
        HostDescriptor::drop(&mut self.filesystem(), fd)?;
        if let Some(quota) = removed.and_then(|opened| opened.granted_dir.quota.clone()) {
            quota.release();
        }
        Ok(())
    }
}

impl InstanceCtx {
    /// A file that the guest may change, with what writing to it needs.
    fn writable_file(&mut self, fd: &Fd) -> FsResult<WritableFile> {
        let file = match self.table.get(fd)? {
            Descriptor::File(file) => file,
            Descriptor::Dir(_) => return Err(ErrorCode::BadDescriptor.into()),
        };
        let opened = self.capabilities.filesystem.get(fd)?.clone();
        let quota = opened.granted_dir.quota.clone().filter(|_| !file.perms.write_not_permitted());
        Ok(WritableFile {
            file: file.file.clone(),
            quota: quota.ok_or(ErrorCode::NotPermitted)?,
            opened,
            host_fuel: self.host_fuel.clone(),
            plugin: self.plugin.clone(),
            denials: self.denials().clone(),
        })
    }

    fn output_stream(&mut self, fd: &Fd, at: WritePosition) -> FsResult<Resource<DynOutputStream>> {
        let target = self.writable_file(fd)?;
        let permit = self.stream_permit()?;
        let stream: DynOutputStream = Box::new(FileOutputStream::new(target, at, permit));
        Ok(self.table.push(stream)?)
    }
}
