//! Clients of other projects, against the real program: rmcp, the official packages for Python and TypeScript, the
//! Inspector and more. They hold a whole conversation, answer client requests, make tasks, get the first list and
//! follow a changed one.
//!
//! The official conformance suite is in `mcp`, and what only the suite's own client can see is in the folder of its
//! subject. The scripts of the clients are in `tests/clients`.

mod browser;
mod client_requests;
mod first_list;
mod list_changed;
mod python_typescript;
mod rmcp_client;
mod rmcp_client_requests;
mod tasks;
