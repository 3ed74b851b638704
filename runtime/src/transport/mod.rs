//! Reads and writes bytes: sockets, stdio, framing and the limits of one connection. This layer knows no MCP method and
//! no plugin.

mod duplex;
mod framing;
#[doc(hidden)]
pub mod fuzzing;
pub mod http;
pub mod status_socket;
pub mod stdio;
pub mod telemetry;
