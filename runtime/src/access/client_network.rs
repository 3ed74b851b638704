//! The network that counts as one client where nobody is authenticated yet.

use std::net::{IpAddr, Ipv6Addr};

use crate::token_bucket::CallerKey;

/// An address, as far as it tells clients apart. All clients whose address is not known are one.
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

/// The first address of the network of one client. The owner of an IPv6 address commonly has a whole /64 of them, so
/// the /64 is one client.
#[must_use]
pub fn network_of_client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address => address,
    }
}
