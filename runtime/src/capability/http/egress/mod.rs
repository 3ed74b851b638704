//! Connections to other hosts.
//!
//! Three steps that belong together: the name is checked, then every address that it leads to, then one of those very
//! addresses is dialled. Nothing is looked up twice, so a name server that changes its answer in between changes
//! nothing. If one address of a name is not public, none of its addresses is dialled. The environment's proxies are not
//! used: they would look the name up again.

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

/// Connections of one plugin at the same time, unless one call of it may have more.
const PLUGIN_CONNECTIONS: usize = 32;

/// Connections of all plugins at the same time: each is an open file, of which this process may have few.
static ALL_CONNECTIONS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(256)));

/// Look-ups of one plugin at the same time.
const PLUGIN_LOOKUPS: usize = 4;

/// Look-ups of all plugins at the same time.
static ALL_LOOKUPS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(32)));

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EgressError {
    /// No grant has this method, scheme, host and port.
    #[error("it is not granted")]
    NotGranted,
    /// The name leads to an address that is not public and not granted.
    #[error("it leads to {address}, which is {what}")]
    Prohibited { address: IpAddr, what: &'static str },
    /// No permit was free in time, for a connection or for looking the name up.
    #[error(transparent)]
    Busy(#[from] NoSharedPermit),
    /// The name could not be looked up.
    #[error("the name could not be looked up")]
    Name(#[source] io::Error),
    /// None of the addresses accepted a connection.
    #[error("it could not be reached")]
    Connect(#[source] io::Error),
    /// No certificate authorities are known, and the log says why.
    #[error("the server knows no certificate authorities")]
    NoAuthorities,
    /// The host's certificate was rejected, or it speaks another protocol.
    #[error("TLS failed")]
    Tls(#[source] io::Error),
}

/// Bytes both ways.
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
    /// For a plugin of which one call may send `parallel` requests at the same time.
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

    /// Acquires the permit for a connection, to be held as long as the connection is open.
    pub(crate) async fn connection_permit(&self, timeout: Duration) -> Result<SharedPermit, NoSharedPermit> {
        self.connections.acquire_timeout(timeout).await
    }

    /// Opens a connection to the target of a request, if the target is granted. `lookup_timeout` bounds the wait for a
    /// permit to look its name up.
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

    /// The addresses of the target, if all of them may be dialled.
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
