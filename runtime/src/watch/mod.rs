//! Watches the plugin folder and what decides about plugins, and publishes a new snapshot for each change.
//!
//! Sits beside the path of a call and is never on it: it builds the next catalog from what lies in the folder, from what the
//! operator says and from what plugins say has changed, and a file that cannot be used costs one line in the log and nothing
//! else.

mod config_watcher;
mod debounce;
mod file_stat;
mod file_tracker;
mod folder_poller;
mod folder_scan;
mod folder_watcher;
mod fs_events;
mod hide_unapproved;
mod list_refresh;
mod load_failure;
mod load_policy;
mod load_queue;
mod load_status;
mod plugin_loader;
mod publisher;

pub use file_stat::FileStat;
pub use folder_scan::{CandidateFile, ScanError, scan};
pub use folder_watcher::FolderWatcher;
pub use list_refresh::ListRefresher;
pub use load_failure::RejectedFile;
pub use load_policy::{LoadPolicy, owners};
pub use load_status::{LoadStatus, Problem, ProblemSource, RejectedVersion, StatusSnapshot};
pub use plugin_loader::{LoadedFolder, load_folder};
pub use publisher::{EventSink, FolderEvent};
