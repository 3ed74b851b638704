//! Approvals: compares plugins with what the operator approved, and returns a verdict.
//!
//! A layer of its own, below the catalog, so that a verdict depends on plain data alone: the digest of a file, its
//! imports, its grants, and the texts of its items. This layer owns the lockfile and all messages about it. It knows
//! neither the catalog nor the plugin folder, and reads no file but the lockfile; its callers act on the verdicts.

mod approve_hint;
mod approved_plugin;
mod atomic_file;
mod canonical_text;
mod diff;
pub mod item_descriptor;
mod lockfile;
mod policy;
mod sha256;
mod verdict;

pub use approved_plugin::{ApprovedPlugin, ItemDescriptors};
pub use diff::{DiffKind, DiffSubject, Difference, compare};
pub use item_descriptor::ItemDescriptor;
pub use lockfile::{Lockfile, LockfileError};
pub use policy::ApprovalPolicy;
pub use verdict::{ItemVerdict, ListingReview};
