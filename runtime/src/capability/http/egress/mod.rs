//! Connections to other hosts.
//!
//! Three steps belong together: the name is checked against the grants, then every address of the name is checked, then
//! one of these checked addresses is dialled. A name is looked up only once, so a name server gains nothing by changing
//! its answer. If one address of a name is not public, none of its addresses is dialled. The proxies of the environment
//! are not used, because a proxy would look the name up again.

mod dns;
mod public_address;
mod tls;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;

use crate::capability::http::grant::{Host, HttpGrant, Scheme};
use crate::capability::http::policy::Target;
use crate::outgoing_connection::dial;
use crate::sandbox::{NoSharedPermit, SharedPermit, SharedPermits};
use dns::{Resolve, SystemResolver};

/// Maximum number of simultaneous connections of one plugin, unless `http_parallel` is higher.
const PLUGIN_CONNECTIONS: usize = 32;

/// Simultaneous connections of all plugins. Each is an open file, and this process may open only so many.
static ALL_CONNECTIONS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(256)));

/// Maximum number of simultaneous look-ups of one plugin.
const PLUGIN_LOOKUPS: usize = 4;

/// Simultaneous look-ups of all plugins.
static ALL_LOOKUPS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(32)));

/// Why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EgressError {
    /// No grant allows this method, scheme, host and port.
    #[error("it is not granted")]
    NotGranted,
    /// The name has an address that is neither public nor granted.
    #[error("it leads to {address}, which is {what}")]
    Prohibited { address: IpAddr, what: &'static str },
    /// No permit for a connection or for a look-up became free in time.
    #[error(transparent)]
    Busy(#[from] NoSharedPermit),
    /// The name could not be looked up.
    #[error("the name could not be looked up")]
    Name(#[source] io::Error),
    /// None of the addresses accepted a connection.
    #[error("it could not be reached")]
    Connect(#[source] io::Error),
    /// The server has no certificate authorities. The log says why.
    #[error("the server knows no certificate authorities")]
    NoAuthorities,
    /// The host's certificate was rejected, or the host does not speak TLS.
    #[error("TLS failed")]
    Tls(#[source] io::Error),
}

/// A connection, with or without TLS.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// The connections of one plugin.
pub(crate) struct Egress {
    resolver: Box<dyn Resolve>,
    connections: SharedPermits,
    lookups: SharedPermits,
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress").finish_non_exhaustive()
    }
}

impl Egress {
    /// Makes the connections of a plugin whose calls may each send `parallel` requests at the same time.
    pub(crate) fn new(parallel: usize) -> Self {
        Self::with_resolver(Box::new(SystemResolver), parallel)
    }

    fn with_resolver(resolver: Box<dyn Resolve>, parallel: usize) -> Self {
        let share = PLUGIN_CONNECTIONS.max(parallel);
        Self {
            resolver,
            connections: SharedPermits::new("connection", share, Arc::clone(&ALL_CONNECTIONS)),
            lookups: SharedPermits::new("look-up of a name", PLUGIN_LOOKUPS, Arc::clone(&ALL_LOOKUPS)),
        }
    }

    /// Acquires the permit for a connection. The caller holds it as long as the connection is open.
    pub(crate) async fn connection_permit(&self, timeout: Duration) -> Result<SharedPermit, NoSharedPermit> {
        self.connections.acquire_timeout(timeout).await
    }

    /// Opens a connection to the target of a request if a grant allows it. `lookup_timeout` bounds how long to wait for
    /// a permit for the look-up.
    pub(crate) async fn connect(
        &self,
        grants: &[HttpGrant],
        target: &Target,
        lookup_timeout: Duration,
    ) -> Result<Box<dyn ByteStream>, EgressError> {
        let addresses = self.addresses(grants, target, lookup_timeout).await?;
        let stream = dial(&addresses).await.map_err(EgressError::Connect)?;
        match target.scheme {
            Scheme::Http => Ok(Box::new(stream)),
            Scheme::Https => Ok(Box::new(tls::connect(&target.host, stream).await?)),
        }
    }

    /// Returns the addresses of the target, or an error if one of them must not be dialled.
    async fn addresses(
        &self,
        grants: &[HttpGrant],
        target: &Target,
        lookup_timeout: Duration,
    ) -> Result<Vec<SocketAddr>, EgressError> {
        if !target.is_granted(grants) {
            return Err(EgressError::NotGranted);
        }
        let addresses = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                let permit = self.lookups.acquire_timeout(lookup_timeout).await?;
                self.resolver.resolve(name, permit).await.map_err(EgressError::Name)?
            }
        };
        if addresses.is_empty() {
            return Err(EgressError::Name(io::Error::other("it has no address")));
        }
        let checked = addresses.into_iter().map(|address| {
            let address = address.to_canonical();
            match public_address::prohibited(address) {
                Some(what) if !target.allowed(grants, &Host::Address(address)) => {
                    Err(EgressError::Prohibited { address, what })
                }
                _ => Ok(SocketAddr::new(address, target.port)),
            }
        });
        checked.collect()
    }
}

#[cfg(test)]
mod tests;
