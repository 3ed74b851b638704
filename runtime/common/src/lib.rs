//! What the server and the authors' commands share: console output, escaping, names of plugins, metadata of components
//! and files in them, and stats of files.
//!
//! The crate exists so that `plugport-authoring` need not depend on the server. A module belongs here if both use it
//! and it needs neither the engine nor an async runtime.

mod command_error;
pub mod console;
mod escape;
mod file_stat;
mod metadata;
mod plugin_name;
mod sections;
mod shell_quote;
mod shipped_files;
mod stderr_writer;
mod truncate;

pub use command_error::CommandError;
pub use escape::{Escaped, is_deceptive};
pub use file_stat::FileStat;
pub use metadata::{COMPONENT_NAME, Metadata};
pub use plugin_name::{NameError, check_name, plugin_name};
pub use sections::{custom_sections, sections};
pub use shell_quote::shell_quote;
pub use shipped_files::{
    FILE_FOLDERS, MAX_FILE, PathError, ShippedFile, ShippedFilesError, append_file, check_path,
    is_files_section, shipped_files,
};
pub use stderr_writer::{StderrGuard, StderrWriter, spawn_stderr_writer};
pub use truncate::truncate;
