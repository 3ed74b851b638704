//! From a folder to a snapshot, and from one snapshot to the next.
//!
//! Sits beside the path of a call and is never on it: it builds the next catalog from what lies in the folder, from what the
//! operator says and from what plugins say has changed, and a file that cannot be used costs one line in the log and nothing
//! else.

mod eyes;
mod folder;
mod hints;
mod ledger;
mod load;
mod look;
mod refusal;
mod relist;
mod scan;
mod settings;
mod settling;
mod shelf;
mod stamp;
mod standing;
mod terms;
mod unapproved;

pub use folder::Folder;
pub use load::{Found, load_folder};
pub use refusal::Skipped;
pub use relist::Watcher;
pub use scan::{Candidate, ScanError, scan};
pub use shelf::{Event, Say};
pub use stamp::Stamp;
pub use standing::{Kind, Known, Problem, Standing, Unserved};
pub use terms::{Terms, owners};
