//! What operators see of a running server with other programs: traces in a collector.
//!
//! Each test starts the real binary and plays the other program. The log, the audit and `plugport status` are in `cli`
//! and beside what they tell of.

mod bad_collectors;
mod traces;
