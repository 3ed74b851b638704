//! What the machine does wrong: disks without room, events of the file system that are lost, files with senseless times,
//! names that cannot be resolved, and a server that is killed at any moment.
//!
//! Plugin files that are bad in themselves are in `reload`, and `plugport dev` that is killed is in `cli`.

mod crash_recovery;
mod disk_full;
mod os_faults;
