//! `wasi:filesystem`: directories of the host. A plugin keeps its granted directories with their quotas, and its share
//! of the threads that wait for a disk. An instance keeps its open files.

pub mod grant;
mod host;
pub(crate) mod policy;
mod preopens;
mod quota;

use std::sync::Arc;

use wasmtime::component::Linker;

use super::capability_trait::{Capability, PluginParts};
use super::{InstanceCtx, PluginCtx};
use crate::call_env::Caller;
pub(super) use host::LocalRoot;
use host::{FileIo, GrantedDir, OpenFiles};
pub(super) use preopens::preopen;

/// Directories.
pub(super) struct Filesystem;

/// What is kept for one plugin.
#[derive(Debug)]
pub(super) struct PluginFiles {
    /// The granted directories, in the order of the grants.
    dirs: Vec<Arc<GrantedDir>>,
    io: FileIo,
}

impl Capability for Filesystem {
    type Granted = grant::Granted;
    type PerPlugin = PluginFiles;
    type PerInstance = OpenFiles;

    fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
        host::link(linker)
    }

    fn for_plugin(granted: &Self::Granted, _: &PluginParts<'_>) -> PluginFiles {
        PluginFiles { dirs: granted.iter().map(GrantedDir::from_grant).collect(), io: FileIo::new() }
    }

    fn for_instance(plugin: &Arc<PluginCtx>, _: &Caller) -> OpenFiles {
        OpenFiles::new(plugin.config.limits.open_files, &plugin.capabilities.filesystem.dirs)
    }

    fn begin_call(open: &mut OpenFiles, _: &Arc<PluginCtx>, _: &Caller) {
        open.reset_for_next_call();
    }
}
