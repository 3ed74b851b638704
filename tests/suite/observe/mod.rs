//! What operators see of a running server with other programs: metrics and probes, and traces in a collector.
//!
//! Each test starts the real binary and plays the other program. The audit and `plugport status` are in `cli`, since
//! commands read them.

mod bad_collectors;
mod metrics;
mod traces;
