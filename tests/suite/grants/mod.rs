//! What a guest reaches outside of its sandbox: directories, outgoing HTTP, the key-value store, configuration, environment
//! and secrets, the client's roots. For each there is what a grant allows, what is denied without one, and guests that try
//! to get beyond theirs, quotas of directories among it.
//!
//! A grant that is taken away while the server serves is in `reload`, bounds that need no grant are in `limits`, and how a
//! guest's requests to its client are carried is in `mcp`.

mod config_env_secrets;
mod denied_without_grant;
mod directories;
mod directory_escape;
mod directory_quota;
mod directory_quota_race;
mod local_roots;
mod outgoing_http;
mod outgoing_https;
