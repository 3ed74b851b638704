//! The network that counts as one client before a request is authenticated.

use std::net::{IpAddr, Ipv6Addr};

use crate::token_bucket::CallerKey;

/// The network of an address. All clients with an unknown address count as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ClientNetwork(Option<IpAddr>);

impl ClientNetwork {
    pub(crate) fn of(address: Option<IpAddr>) -> Self {
        Self(address.map(network_of_client))
    }
}

impl CallerKey for ClientNetwork {
    fn key(&self) -> Self {
        *self
    }
}

/// Returns the first address of the network that counts as one client. The owner of an IPv6 address commonly owns its
/// whole /64, so a /64 counts as one client.
#[must_use]
pub fn network_of_client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address => address,
    }
}
