//! What a plugin needs in order to be served, besides a valid file: the operator's approval in the lockfile, and a
//! signature where keys are configured.
//!
//! Names that two plugins claim are in `reload`, and what an approved plugin is granted is in `grants`.

mod concurrent_approve;
mod lockfile;
mod signatures;
