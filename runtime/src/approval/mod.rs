//! Approvals: compares plugins with what the operator approved, and returns a verdict.
//!
//! A room of its own, below the catalog, so that a verdict depends on plain data alone: the digest of a file, its
//! imports, its grants, and the words of its items. It owns the lockfile and everything that is said about it. It knows
//! neither the catalog nor where files come from, and reads or runs nothing but the lockfile; whoever asks acts on the
//! verdict.

mod approve_hint;
mod approved_plugin;
mod atomic_file;
pub mod descriptor;
mod diff;
mod item_text;
mod lockfile;
mod policy;
mod sha256;
mod verdict;

pub use approved_plugin::{ApprovedPlugin, ItemDescriptors};
pub use descriptor::ItemDescriptor;
pub use diff::{DiffKind, DiffSubject, Difference, compare};
pub use lockfile::{Lockfile, LockfileError};
pub use policy::ApprovalPolicy;
pub use verdict::{ItemVerdict, ListingReview};
