//! From a folder to a snapshot.
//!
//! Sits beside the path of a call and is never on it: it builds the next catalog from what lies in the folder, and a
//! file that cannot be used costs one line in the log and nothing else. For now the folder is read once, at start.

mod load;
mod scan;

pub use load::{Skipped, load_folder};
pub use scan::{Candidate, ScanError, scan};
