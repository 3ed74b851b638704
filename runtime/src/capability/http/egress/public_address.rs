//! To which addresses a name may lead: to those of the public internet, and to no others.
//!
//! Nearly all IPv4 addresses are public, so a table lists the ranges that are prohibited. Only one eighth of the IPv6
//! addresses is assigned; the other seven eighths are prohibited, and a table lists the prohibited ranges of that
//! eighth. An IPv6 address that embeds an IPv4 address is checked as that IPv4 address, or prohibited if the embedding
//! is obsolete. The ranges are those of IANA's registries of special-purpose addresses, and the addresses at which
//! clouds hand a machine its secrets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

type Cidr<A> = (A, u32, &'static str);

/// Prohibited ranges of IPv4.
const PROHIBITED_V4: &[Cidr<Ipv4Addr>] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "unspecified"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared by a carrier"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "a cloud's own service"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarking"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// The assigned part of IPv6.
const GLOBAL: Cidr<Ipv6Addr> = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3, "");

/// Prohibited ranges of `GLOBAL`.
const PROHIBITED_V6: &[Cidr<Ipv6Addr>] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "reserved"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "an IPv4 address in disguise"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation"),
];

/// The addresses through which a network without IPv4 reaches IPv4 hosts (RFC 6052).
const NAT64: Cidr<Ipv6Addr> = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, "");

/// Returns why no name may lead to this address; `None` if the address is public.
pub(super) fn prohibited(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(address) => prohibited_v4(address),
        IpAddr::V6(address) => prohibited_v6(address),
    }
}

fn prohibited_v4(address: Ipv4Addr) -> Option<&'static str> {
    PROHIBITED_V4.iter().find(|range| is_in_v4(address, range)).map(|(_, _, what)| *what)
}

fn prohibited_v6(address: Ipv6Addr) -> Option<&'static str> {
    if is_in_v6(address, &NAT64) {
        let [.., a, b, c, d] = address.octets();
        return prohibited_v4(Ipv4Addr::new(a, b, c, d));
    }
    if let Some((_, _, what)) = PROHIBITED_V6.iter().find(|range| is_in_v6(address, range)) {
        return Some(what);
    }
    if is_in_v6(address, &GLOBAL) {
        return None;
    }
    Some(match address {
        Ipv6Addr::LOCALHOST => "loopback",
        Ipv6Addr::UNSPECIFIED => "unspecified",
        _ if address.is_unique_local() => "private",
        _ if address.is_unicast_link_local() => "link-local",
        _ if address.is_multicast() => "multicast",
        _ => "reserved",
    })
}

fn is_in_v4(address: Ipv4Addr, (network, bits, _): &Cidr<Ipv4Addr>) -> bool {
    (address.to_bits() ^ network.to_bits()) >> (32 - bits) == 0
}

fn is_in_v6(address: Ipv6Addr, (network, bits, _): &Cidr<Ipv6Addr>) -> bool {
    (address.to_bits() ^ network.to_bits()) >> (128 - bits) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Option<&'static str> {
        prohibited(text.parse().unwrap())
    }

    #[test]
    fn what_is_not_public_is_prohibited() {
        for (text, what) in [
            ("0.0.0.0", "unspecified"),
            ("0.1.2.3", "unspecified"),
            ("10.0.0.1", "private"),
            ("10.255.255.255", "private"),
            ("100.64.0.1", "shared by a carrier"),
            ("100.100.100.200", "shared by a carrier"),
            ("100.127.255.255", "shared by a carrier"),
            ("127.0.0.1", "loopback"),
            ("127.255.255.254", "loopback"),
            ("168.63.129.16", "a cloud's own service"),
            ("169.254.169.254", "link-local"),
            ("172.16.0.1", "private"),
            ("172.31.255.255", "private"),
            ("192.0.0.192", "reserved"),
            ("192.0.2.1", "documentation"),
            ("192.168.1.1", "private"),
            ("198.18.0.1", "benchmarking"),
            ("198.51.100.7", "documentation"),
            ("203.0.113.7", "documentation"),
            ("224.0.0.1", "multicast"),
            ("255.255.255.255", "reserved"),
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("::127.0.0.1", "reserved"),
            ("::8.8.8.8", "reserved"),
            ("::ffff:127.0.0.1", "loopback"),
            ("::ffff:169.254.169.254", "link-local"),
            ("::ffff:0:127.0.0.1", "reserved"),
            ("64:ff9b::7f00:1", "loopback"),
            ("64:ff9b::a9fe:a9fe", "link-local"),
            ("64:ff9b:1::808:808", "reserved"),
            ("100::1", "reserved"),
            ("2001::1", "reserved"),
            ("2001:10::1", "reserved"),
            ("2001:db8::1", "documentation"),
            ("2002:7f00:1::", "an IPv4 address in disguise"),
            ("2002:808:808::", "an IPv4 address in disguise"),
            ("3fff::1", "documentation"),
            ("5f00::1", "reserved"),
            ("fc00::1", "private"),
            ("fd00:ec2::254", "private"),
            ("fe80::1", "link-local"),
            ("fec0::1", "reserved"),
            ("ff02::1", "multicast"),
        ] {
            assert_eq!(check(text), Some(what), "{text}");
        }
    }

    #[test]
    fn what_is_public_is_not() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::1",
            "2606:4700:4700::1111",
            "2a00:1450:4001:80b::200e",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
        ] {
            assert_eq!(check(text), None, "{text}");
        }
    }
}
