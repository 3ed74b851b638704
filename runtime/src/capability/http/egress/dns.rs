//! Looks names up. A trait, so that a test can answer one thing now and another a moment later, as hostile servers do.
//!
//! The system's resolver is used, for it knows what the operator set up. It blocks a thread, and a call that is gone
//! does not free that thread, so the thread keeps the permit that was acquired for it.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};

use futures_util::future::BoxFuture;

use crate::sandbox::SharedPermit;

/// Finds the addresses of names.
pub(super) trait Resolve: Send + Sync {
    /// All addresses of a name, which is one already: in lower case, no address, no dot at its end.
    fn resolve(&self, name: &str, permit: SharedPermit) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver.
#[derive(Debug)]
pub(super) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: &str, permit: SharedPermit) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        Box::pin(async move {
            let looking = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                let found = (name.as_str(), 0).to_socket_addrs()?;
                io::Result::Ok(found.map(|address| address.ip()).collect())
            });
            looking.await.map_err(io::Error::other)?
        })
    }
}
