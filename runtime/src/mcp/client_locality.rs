//! Whether a client runs on this machine, so that its folders are the server's too.
//!
//! Always true for stdio. Over HTTP: a loopback listener, a loopback peer, a local `Host` and no header of a proxy, since one
//! in front also connects from here. A proxy that adds no header is taken for a client, so the operator can say that no
//! client of HTTP is local (`roots_over_http`).

use std::net::IpAddr;

use http::uri::Authority;
use http::{HeaderMap, header};

use crate::config::ServerConfig;
use crate::host::Caller;

/// What proxies add.
const OF_PROXIES: [&str; 8] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-prefix",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-real-ip",
];

/// Judges a request of HTTP.
pub(super) fn is_local_client(settings: &ServerConfig, headers: &HeaderMap, caller: &Caller) -> bool {
    let from_here = matches!(caller, Caller::Address(address) if address.is_loopback());
    let proxied = OF_PROXIES.iter().any(|name| headers.contains_key(*name));
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    settings.roots_over_http
        && from_here
        && settings.listen.ip().is_loopback()
        && !proxied
        && host.is_some_and(names_this_machine)
}

fn names_this_machine(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(listen: &str, pairs: &[(&'static str, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        let settings = ServerConfig { listen: listen.parse().unwrap(), ..ServerConfig::default() };
        let wary = ServerConfig { roots_over_http: false, ..settings.clone() };
        assert!(!is_local_client(&wary, &headers, &Caller::Address([127, 0, 0, 1].into())));
        let far = Caller::Address([192, 0, 2, 1].into());
        assert!(
            !is_local_client(&settings, &headers, &far)
                && !is_local_client(&settings, &headers, &Caller::Unknown)
        );
        is_local_client(&settings, &headers, &Caller::Address([127, 0, 0, 1].into()))
    }

    #[test]
    fn a_proxy_or_an_open_port_makes_it_unsure() {
        for host in ["localhost:7584", "127.0.0.1:7584", "[::1]:7584"] {
            assert!(near("127.0.0.1:7584", &[("host", host)]), "{host}");
            assert!(!near("0.0.0.0:7584", &[("host", host)]));
        }
        for header in OF_PROXIES {
            assert!(!near("127.0.0.1:7584", &[("host", "localhost"), (header, "x")]), "{header}");
        }
        assert!(!near("127.0.0.1:7584", &[("host", "tools.example")]));
        assert!(!near("127.0.0.1:7584", &[]));
    }
}
