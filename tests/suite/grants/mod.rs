//! The capabilities: directories, outgoing HTTP, the key-value store, configuration values, environment and secrets,
//! the client's roots. Each has tests of what its grant allows, of what is denied without it, and of guests that attack
//! it. Quotas of directories are here too.
//!
//! Grants that are revoked while the server serves are in `reload`, limits that need no grant are in `limits`, and how
//! client requests are carried is in `mcp`.

mod config_env_secrets;
mod denied_without_grant;
mod directories;
mod directory_escape;
mod directory_quota;
mod directory_quota_race;
mod http_client;
mod local_roots;
mod outgoing_http;
mod outgoing_https;
