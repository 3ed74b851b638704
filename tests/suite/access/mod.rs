//! Who may call: tokens, logins, roles, what belongs to a principal, and the addresses behind proxies.
//!
//! Each test starts the real binary with `[auth]`. Rates and limits of callers are in `limits`, and `Host` and `Origin`
//! are in `http`.

mod access_command;
mod dpop;
mod foreign_tokens;
mod keyvalue_per_caller;
mod oauth;
mod principal_isolation;
mod quotas;
mod refused_calls;
mod resource_links;
mod roles;
mod static_tokens;
mod trusted_proxies;

use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use sha2::{Digest as _, Sha256};

/// The tokens of two callers.
const ADA: &str = "plugport_ada-0123456789abcdefghijklmnopqrstuvwxyz";
const BOB: &str = "plugport_bob-0123456789abcdefghijklmnopqrstuvwxyz";

/// A section for a token, with more keys.
fn section(name: &str, token: &str, more: &str) -> String {
    let digest: String = Sha256::digest(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("[[auth.tokens]]\nname = \"{name}\"\nsha256 = \"{digest}\"\n{more}\n")
}

/// The sections for both callers.
fn both() -> String {
    section("ada", ADA, "") + &section("bob", BOB, "")
}

fn as_caller(server: &Server, token: &str) -> Client {
    Client::with_token(server.url(), token)
}
