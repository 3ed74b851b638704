//! What goes wrong on a machine: full disks, lost file system events, files with impossible times, names that do not
//! resolve, and a server that is killed at any moment.
//!
//! Plugin files that are bad in themselves are in `reload`, and a killed `plugport dev` is in `cli`.

mod crash_recovery;
mod disk_full;
mod killed_tasks;
mod os_faults;
