//! The plugin folder and the configuration, at the start and whenever they change: loading, files that are no plugins,
//! versions that replace each other, calls that end with the version they began with, revoked grants, and which plugin
//! a name belongs to.
//!
//! Whether a changed plugin may be served at all is in `approval`, faults of disks and file systems are in `faults`,
//! and clients of others that follow a changed list are in `clients`.

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
