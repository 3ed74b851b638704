//! From a folder to a snapshot, and from one snapshot to the next.
//!
//! Sits beside the path of a call and is never on it: it builds the next catalog from what lies in the folder and from what
//! plugins say has changed, and a file that cannot be used costs one line in the log and nothing else.

mod eyes;
mod folder;
mod ledger;
mod load;
mod relist;
mod scan;
mod stamp;
mod standing;

pub use folder::{Event, Folder, Say};
pub use load::{Found, Skipped, load_folder};
pub use relist::Watcher;
pub use scan::{Candidate, ScanError, scan};
pub use stamp::Stamp;
pub use standing::{Known, Standing, Unserved};
