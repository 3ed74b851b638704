//! What operators see of a running server from outside: metrics and probes.
//!
//! The audit and `plugport status` are in `cli`, since commands read them.

mod metrics;
