//! Measures Plugport beside other MCP servers; `cargo measure rivals` builds and starts it.
//!
//! The driver starts every server, and a load generator of its own process for each measurement, in turns: what
//! disturbs the machine disturbs all servers. The servers in Rust are programs of this package, so that they are built
//! with Plugport's own profile. The load generator knows nothing of any server but what it says on the wire.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "a benchmark stops at the first surprise"
)]

pub mod driver;
pub mod load;
pub mod plan;
pub mod tools;
pub mod usage;
