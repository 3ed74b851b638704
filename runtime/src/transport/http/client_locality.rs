//! Decides whether an HTTP client runs on this machine. If so, its roots are folders of this machine, and it may call
//! without credentials where the operator allows that (`anonymous = "loopback"`).
//!
//! A client is local if the listener and the client's address are loopback, `Host` names this machine, and no header of
//! a proxy is present: a proxy on this machine has a loopback address too. A proxy that adds no header cannot be
//! recognized, so the operator can turn off reading roots over HTTP (`roots_over_http`).

use axum::http::HeaderMap;

use crate::config::ServerConfig;
use crate::mcp::Caller;

/// Whether this is a header that proxies add. Each header of a request is compared with these names, which is faster
/// than looking up each of these names in the request.
fn is_proxy_header(name: &str) -> bool {
    matches!(
        name,
        "forwarded"
            | "via"
            | "x-forwarded-for"
            | "x-forwarded-host"
            | "x-forwarded-prefix"
            | "x-forwarded-proto"
            | "x-forwarded-server"
            | "x-real-ip"
    )
}

/// Decides which clients are local.
#[derive(Debug)]
pub(super) struct LocalityCheck {
    /// Whether this server can have local clients at all.
    possible: bool,
}

impl LocalityCheck {
    pub(super) fn new(settings: &ServerConfig) -> Self {
        Self { possible: settings.listen.ip().is_loopback() }
    }

    /// Whether a client is local. `names_this_machine` says whether the request's `Host` names this machine.
    pub(super) fn is_local(&self, headers: &HeaderMap, caller: &Caller, names_this_machine: bool) -> bool {
        self.possible
            && names_this_machine
            && matches!(caller, Caller::Address(address) if address.is_loopback())
            && !headers.keys().any(|name| is_proxy_header(name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_local(listen: &str, names_this_machine: bool, proxy: Option<&'static str>) -> bool {
        let mut headers = HeaderMap::new();
        if let Some(name) = proxy {
            headers.append(name, "x".parse().unwrap());
        }
        let settings = ServerConfig { listen: listen.parse().unwrap(), ..ServerConfig::default() };
        let is_local_for = |settings: &ServerConfig, caller: &Caller| {
            LocalityCheck::new(settings).is_local(&headers, caller, names_this_machine)
        };
        let here = Caller::Address([127, 0, 0, 1].into());
        let far = Caller::Address([192, 0, 2, 1].into());
        assert!(!is_local_for(&settings, &far) && !is_local_for(&settings, &Caller::Unknown));
        is_local_for(&settings, &here)
    }

    #[test]
    fn a_proxy_or_an_open_port_makes_it_unsure() {
        assert!(is_local("127.0.0.1:7584", true, None));
        assert!(!is_local("0.0.0.0:7584", true, None));
        assert!(!is_local("127.0.0.1:7584", false, None));
        for header in [
            "forwarded",
            "via",
            "x-forwarded-for",
            "x-forwarded-host",
            "x-forwarded-prefix",
            "x-forwarded-proto",
            "x-forwarded-server",
            "x-real-ip",
        ] {
            assert!(!is_local("127.0.0.1:7584", true, Some(header)), "{header}");
        }
        assert!(is_local("127.0.0.1:7584", true, Some("x-forwarded")));
    }
}
