//! What a plugin must have to be served besides a valid file: the operator's approval, which is recorded in the lockfile, and
//! a signature where keys are configured.
//!
//! Names that two plugins claim are in `reload`, and what an approved plugin is granted is in `grants`.

mod concurrent_approve;
mod lockfile;
mod signatures;
