//! Turns a folder of files into the catalog. There is one way in, which the folder watcher drives:
//!
//! 1. `fs_events` and `folder_poller` report that the folder, the configuration or the lockfile has changed.
//! 2. `file_tracker` waits until a file has stayed the same, and says which file to load next.
//! 3. `load_queue` passes each file through `plugin_loader` once: the file is opened, read, hashed and verified. A file
//!    that is not in the code cache waits in the queue for a permit to compile.
//! 4. `publisher` receives loaded plugins, and lists that `list_refresh` has read again. It alone writes the catalog.
//!
//! No call passes through this module. A file that cannot be used costs one line in the log and changes nothing.
//! `load_status` has what operators see beyond the catalog. Commands that only examine a folder use `load_folder_once`,
//! which is steps 2 and 3. Nothing here knows MCP, and nothing but the plugin's own functions runs a guest.

mod config_watcher;
mod debounce;
mod file_tracker;
mod folder_poller;
mod folder_scan;
mod folder_watcher;
mod fs_events;
mod hide_unapproved;
mod list_refresh;
mod load_folder_once;
mod load_policy;
mod load_queue;
mod load_status;
mod plugin_file_stats;
mod plugin_loader;
mod publisher;
mod rejected_file;

pub use folder_scan::{CandidateFile, ScanError, scan};
pub use folder_watcher::FolderWatcher;
pub use list_refresh::ListRefresher;
pub use load_folder_once::{LoadedFolder, load_folder};
pub use load_policy::{LoadPolicy, owners};
pub use load_status::{LoadStatus, Problem, ProblemSource, RejectedVersion, StatusSnapshot};
pub use plugin_file_stats::FileStat;
pub use publisher::{EventSink, FolderEvent};
pub use rejected_file::RejectedFile;
