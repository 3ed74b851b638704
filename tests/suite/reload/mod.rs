//! The plugin folder and the configuration, at the start and whenever they change: loading, files that are no plugins,
//! versions that replace each other, calls that end with the version they began with, grants that are taken away, and
//! which plugin a name belongs to.
//!
//! Whether a changed plugin may be served at all is in `approval`. What goes wrong with disks and file systems is in `faults`.
//! That other people's clients follow a changed list is in `clients`.

mod config_changes;
pub(crate) mod drain;
mod folder_changes;
mod initial_load;
mod load_failures;
mod many_plugins;
mod name_conflicts;
mod odd_files;
mod revoked_grants;
mod version_swaps;
