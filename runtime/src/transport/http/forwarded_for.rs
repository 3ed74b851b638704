//! The client's address behind trusted proxies, from `X-Forwarded-For`.
//!
//! Every proxy appends the address from which it was reached, so the header is read from its end: the first address
//! that is not a trusted proxy's is the client's. The client itself may have written what stands before that, so it is
//! ignored. `Forwarded` (RFC 7239) is not read: a proxy that appends to one of the two headers forwards the other one
//! as the client wrote it.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The networks of the operator's proxies.
#[derive(Debug)]
pub(super) struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    pub(super) fn new(networks: &[IpNet]) -> Self {
        Self(networks.to_vec())
    }

    /// Returns the address of the client of a request that came from `peer`.
    pub(super) fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut address = peer.to_canonical();
        if !self.contains(address) {
            return peer;
        }
        let lines = headers.get_all(X_FORWARDED_FOR).iter().rev();
        for hop in lines.flat_map(|line| line.to_str().unwrap_or_default().rsplit(',')) {
            // If an address cannot be parsed, the addresses before it are not trustworthy.
            let Some(before) = parse(hop.trim()) else { return address };
            address = before;
            if !self.contains(address) {
                return address;
            }
        }
        address
    }

    fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// Parses an address. Some proxies append a port.
fn parse(hop: &str) -> Option<IpAddr> {
    let bare = hop.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(hop);
    let address = bare.parse().ok().or_else(|| Some(hop.parse::<SocketAddr>().ok()?.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, lines: &[&'static str]) -> String {
        let proxies = TrustedProxies::new(&["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()]);
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(X_FORWARDED_FOR, line.parse().unwrap());
        }
        proxies.client_address(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn only_a_trusted_proxy_names_a_client() {
        assert_eq!(client("192.0.2.9", &["198.51.100.1"]), "192.0.2.9");
        assert_eq!(client("10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(client("::ffff:10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(client("::1", &["2001:db8::7"]), "2001:db8::7");
        assert_eq!(client("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn what_a_client_wrote_itself_does_not_count() {
        assert_eq!(client("10.0.0.1", &["127.0.0.1, 198.51.100.1"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &["127.0.0.1", "198.51.100.1, 10.0.0.2"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &["198.51.100.1, unknown"]), "10.0.0.1");
        assert_eq!(client("10.0.0.1", &["198.51.100.1, "]), "10.0.0.1");
        assert_eq!(client("10.0.0.1", &["10.0.0.3, 10.0.0.2"]), "10.0.0.3");
    }

    #[test]
    fn an_address_may_have_a_port() {
        assert_eq!(client("10.0.0.1", &["198.51.100.1:4711"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &["[2001:db8::7]:4711"]), "2001:db8::7");
        assert_eq!(client("10.0.0.1", &["[2001:db8::7]"]), "2001:db8::7");
    }
}
