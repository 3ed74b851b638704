//! Looks up the addresses of names. `Resolve` is a trait, so that a test can return different addresses at each
//! look-up, as hostile name servers do.
//!
//! The operating system's resolver is used, because it respects the operator's configuration. It blocks a thread, and
//! the end of a call does not free that thread. So the thread, and not the call, holds the permit for the look-up.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};

use futures_util::future::BoxFuture;

use crate::sandbox::SharedPermit;

/// Looks up the addresses of names.
pub(super) trait Resolve: Send + Sync {
    /// Returns all addresses of a name. `name` is in lower case, has no dot at its end and is not an address. The
    /// resolver holds `permit` until the look-up ends.
    fn resolve(&self, name: &str, permit: SharedPermit) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The operating system's resolver.
#[derive(Debug)]
pub(super) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: &str, permit: SharedPermit) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        Box::pin(async move {
            let lookup = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                let addresses = (name.as_str(), 0).to_socket_addrs()?;
                io::Result::Ok(addresses.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}
