//! Bytes in and out: sockets, stdio, framing and what one connection may cost. Knows no method and no plugin.

#[doc(hidden)]
pub mod fuzzing;
pub mod http;
mod lines;
pub mod local;
mod pipe;
pub mod stdio;
