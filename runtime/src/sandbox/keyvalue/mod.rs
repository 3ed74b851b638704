//! The key-value stores of plugins: one database for all, and a bucket for each plugin or each caller of a plugin.
//!
//! `capability/keyvalue` has the grant and the host functions. This part knows neither: it bounds what a bucket stores,
//! and loses nothing when the process is killed. `database` is the file, `owner` the tables of plugins and callers,
//! `bucket` what a call reads and writes, and `forget` deletes the stores of one caller. `record_table` has
//! records of the server itself.

mod bucket;
mod database;
mod forget;
mod owner;
mod record_table;

pub(crate) use bucket::{CallerQuota, KeyValues, KvBucket, ValueVersion};
pub(crate) use database::KEY as LONGEST_KEY;
pub use database::{KvDatabase, KvError};
pub(crate) use record_table::{RecordId, RecordTable};
