//! Whether a client of HTTP runs on this machine, so that its roots are folders of this machine, and that it may call
//! without credentials where the operator says so (`anonymous = "loopback"`).
//!
//! It does if the listener and the client's address are loopback, `Host` names this machine, and there is no header of
//! a proxy, since a proxy on this machine also connects from here. A proxy that adds no header counts as a client, so
//! the operator can set that no roots are read over HTTP (`roots_over_http`).

use axum::http::HeaderMap;

use crate::config::ServerConfig;
use crate::mcp::Caller;

/// Whether proxies add a header of this name. The names of a request are compared with these, since looking up each of
/// these would take longer.
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

/// Finds local clients.
#[derive(Debug)]
pub(super) struct LocalityCheck {
    /// Whether this server can have local clients.
    possible: bool,
}

impl LocalityCheck {
    pub(super) fn new(settings: &ServerConfig) -> Self {
        Self { possible: settings.listen.ip().is_loopback() }
    }

    /// Whether a client is local. `names_this_machine`: whether the request's `Host` does.
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
