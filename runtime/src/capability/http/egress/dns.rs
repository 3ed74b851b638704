//! Looks names up. A trait, so that a test can return other addresses each time, as hostile name servers do.
//!
//! The system's resolver is used, since it knows what the operator set up. It blocks a thread, and the end of a call
//! does not free that thread, so the thread holds the permit that was acquired for it.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};

use futures_util::future::BoxFuture;

use crate::sandbox::SharedPermit;

/// Finds the addresses of names.
pub(super) trait Resolve: Send + Sync {
    /// All addresses of a name. `name` is in lower case, has no dot at its end and is no address.
    fn resolve(&self, name: &str, permit: SharedPermit) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver.
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
