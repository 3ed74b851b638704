//! The SDK as its authors use it: through the macros, natively. One binary, since linking is what takes long.

#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "tests, in helpers as well")]
#![allow(dead_code, reason = "most tools here are only invoked, and none is exported")]

mod arguments;
mod async_functions;
mod call;
mod client_requests;
mod limits;
#[cfg(any(feature = "log", feature = "tracing"))]
mod logging;
mod prompts;
mod resources;
mod returns;
mod tool_listing;
#[cfg(feature = "validation")]
mod validation;
