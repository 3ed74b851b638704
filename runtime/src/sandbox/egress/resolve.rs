//! Looks names up. A trait, so that a test can answer one thing now and another a moment later, as hostile servers do.
//!
//! The system's resolver is used, for it knows what the operator set up. It blocks a thread, and a call that is gone does
//! not free that thread; so few may block at the same time, of one plugin and of all together.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

/// Look-ups of one plugin at the same time.
const OF_ONE: usize = 8;

/// Look-ups of all plugins at the same time.
static OF_ALL: Semaphore = Semaphore::const_new(32);

/// Finds the addresses of names.
pub(crate) trait Resolve: Send + Sync {
    /// All addresses of a name, which is one already: in lower case, no address, no dot at its end.
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver.
#[derive(Debug)]
pub(super) struct System {
    own: Arc<Semaphore>,
}

impl Default for System {
    fn default() -> Self {
        Self { own: Arc::new(Semaphore::new(OF_ONE)) }
    }
}

impl Resolve for System {
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let (own, name) = (Arc::clone(&self.own), name.to_owned());
        Box::pin(async move {
            let own = own.acquire_owned().await.map_err(io::Error::other)?;
            let common = OF_ALL.acquire().await.map_err(io::Error::other)?;
            let looking = tokio::task::spawn_blocking(move || {
                let _places = (own, common);
                let found = (name.as_str(), 0).to_socket_addrs()?;
                io::Result::Ok(found.map(|address| address.ip()).collect())
            });
            looking.await.map_err(io::Error::other)?
        })
    }
}
