//! From a folder to a snapshot, and from one snapshot to the next.
//!
//! Sits beside the path of a call and is never on it: it builds the next catalog from what lies in the folder and from what
//! plugins say has changed, and a file that cannot be used costs one line in the log and nothing else. For now the folder
//! is read once, at start.

mod load;
mod relist;
mod scan;

pub use load::{Skipped, load_folder};
pub use relist::Watcher;
pub use scan::{Candidate, ScanError, scan};
