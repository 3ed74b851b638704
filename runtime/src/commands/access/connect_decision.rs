//! Who may connect: what `[auth]` says before any role does.

use std::net::IpAddr;
use std::time::SystemTime;

use serde::Serialize;

use crate::access::policy::{DescribedCaller, Subject};
use crate::access::{Principal, PrincipalKind};
use crate::config::{AnonymousAccess, AuthConfig, Config};

/// Whether a caller may connect.
#[derive(Debug, Serialize)]
pub(super) struct ConnectDecision {
    /// Whether it may.
    pub(super) allowed: bool,
    /// Why.
    pub(super) reason: &'static str,
}

impl ConnectDecision {
    /// Whether this caller may connect at the time `now`.
    pub(super) fn of(caller: &DescribedCaller, config: &Config, now: SystemTime) -> Self {
        let (allowed, reason) = match caller.subject() {
            Subject::Stdio => (true, "it starts the server itself, and needs no credentials"),
            Subject::Http { principal: Some(principal), .. } => authenticated(principal, config, now),
            Subject::Http { principal: None, address } => anonymous(address, config.auth.as_ref()),
        };
        Self { allowed, reason }
    }
}

fn authenticated(principal: &Principal, config: &Config, now: SystemTime) -> (bool, &'static str) {
    let asks_for_certificates = config.server.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    if principal.kind == PrincipalKind::Certificate && !asks_for_certificates {
        return (false, "there is no `client_ca` under [server.tls], so no client shows a certificate");
    }
    if !principal.is_valid_at(now) {
        return (false, "its token has expired");
    }
    (true, "it has credentials that [auth] accepts")
}

fn anonymous(address: Option<IpAddr>, auth: Option<&AuthConfig>) -> (bool, &'static str) {
    let Some(auth) = auth else {
        return (true, "there is no [auth], so everybody who reaches the server may connect");
    };
    let is_elsewhere = address.is_some_and(|address| !address.to_canonical().is_loopback());
    match auth.anonymous {
        AnonymousAccess::Allow => (true, "[auth] needs no credentials (`anonymous = \"allow\"`)"),
        AnonymousAccess::Loopback if is_elsewhere => {
            (false, "[auth] needs credentials of clients on other machines (`anonymous = \"loopback\"`)")
        }
        AnonymousAccess::Loopback => {
            (true, "[auth] needs no credentials on this machine (`anonymous = \"loopback\"`)")
        }
        AnonymousAccess::Deny => (false, "[auth] needs credentials (`anonymous = \"deny\"`)"),
    }
}

/// Everybody who may connect over HTTP, in words.
pub(super) fn who_may_connect(config: &Config) -> String {
    let Some(auth) = &config.auth else {
        return "everybody who reaches the server, since there is no [auth]".to_owned();
    };
    let mut who = Vec::new();
    if !auth.tokens.is_empty() {
        who.push("the holders of tokens of [[auth.tokens]]".to_owned());
    }
    if !auth.issuers.is_empty() {
        let issuers: Vec<&str> = auth.issuers.iter().map(|issuer| issuer.issuer.as_str()).collect();
        who.push(format!("holders of access tokens of {}", issuers.join(", ")));
    }
    if config.server.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some()) {
        who.push("clients with a certificate".to_owned());
    }
    match auth.anonymous {
        AnonymousAccess::Deny => {}
        AnonymousAccess::Loopback => who.push("every client on this machine".to_owned()),
        AnonymousAccess::Allow => who.push("every other client".to_owned()),
    }
    if who.is_empty() { "nobody".to_owned() } else { who.join(", ") }
}
