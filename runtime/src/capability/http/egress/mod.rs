//! The way out to other hosts.
//!
//! Three steps that cannot be taken apart: the name is checked, then every address that it leads to, then one of those
//! very addresses is dialled. Nothing is looked up twice, so an answer that changes in between changes nothing. If only
//! one address of a name is not public, the name is not trusted with any. The environment's proxies are not used: they
//! would look the name up again.

mod dns;
mod public_address;
mod tls;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::capability::http::grant::{Host, HttpGrant, Scheme};
use crate::capability::http::policy::Target;
use crate::sandbox::{NoSharedPermit, SharedPermit, SharedPermits};
use dns::{Resolve, SystemResolver};

/// Addresses of one name that are tried.
const TRIED: usize = 4;

/// What one address may take to answer, while there is another to try.
const PATIENCE: Duration = Duration::from_secs(3);

/// Connections of one plugin at the same time, unless one call of it may have more.
const CONNECTIONS_OF_ONE: usize = 32;

/// Connections of all plugins at the same time; files of this process are few.
static CONNECTIONS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(256)));

/// Look-ups of one plugin at the same time.
const LOOK_UPS_OF_ONE: usize = 4;

/// Look-ups of all plugins at the same time.
static LOOK_UPS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(32)));

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EgressError {
    /// No grant has this method, scheme, host and port.
    #[error("it is not granted")]
    NotGranted,
    /// The name leads to an address that is not public and not granted.
    #[error("it leads to {address}, which is {what}")]
    Prohibited { address: IpAddr, what: &'static str },
    /// Too many names are being looked up.
    #[error(transparent)]
    Busy(#[from] NoSharedPermit),
    /// The name could not be looked up.
    #[error("the name could not be looked up")]
    Name(#[source] io::Error),
    /// None of the addresses answered.
    #[error("it could not be reached")]
    Connect(#[source] io::Error),
    /// There is nobody to vouch for it, and the log says why.
    #[error("the server knows no certificate authorities")]
    NoAuthorities,
    /// It did not prove who it is, or speaks another protocol.
    #[error("TLS failed")]
    Tls(#[source] io::Error),
}

/// Bytes both ways.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// The way out, for one plugin.
pub(crate) struct Egress {
    resolver: Box<dyn Resolve>,
    connections: SharedPermits,
    look_ups: SharedPermits,
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress").finish_non_exhaustive()
    }
}

impl Egress {
    /// For a plugin of which one call may send `parallel` requests at the same time.
    pub(crate) fn new(parallel: usize) -> Self {
        Self::through(Box::new(SystemResolver), parallel)
    }

    fn through(resolver: Box<dyn Resolve>, parallel: usize) -> Self {
        let share = CONNECTIONS_OF_ONE.max(parallel);
        Self {
            resolver,
            connections: SharedPermits::new("connection", share, Arc::clone(&CONNECTIONS)),
            look_ups: SharedPermits::new("look-up of a name", LOOK_UPS_OF_ONE, Arc::clone(&LOOK_UPS)),
        }
    }

    /// Takes the place of a connection, which is to be kept as long as that is open.
    pub(crate) async fn connection_permit(&self, patience: Duration) -> Result<SharedPermit, NoSharedPermit> {
        self.connections.acquire_timeout(patience).await
    }

    /// Opens a connection to where a request goes, if that is granted. If its name cannot be looked up before
    /// `patience` ends because too many are, that is said.
    pub(crate) async fn connect(
        &self,
        grants: &[HttpGrant],
        target: &Target,
        patience: Duration,
    ) -> Result<Box<dyn ByteStream>, EgressError> {
        let addresses = self.addresses(grants, target, patience).await?;
        let stream = dial(&addresses).await.map_err(EgressError::Connect)?;
        match target.scheme {
            Scheme::Http => Ok(Box::new(stream)),
            Scheme::Https => Ok(Box::new(tls::connect(&target.host, stream).await?)),
        }
    }

    /// The addresses that may be dialled: all of them, or none.
    async fn addresses(
        &self,
        grants: &[HttpGrant],
        target: &Target,
        patience: Duration,
    ) -> Result<Vec<SocketAddr>, EgressError> {
        if !target.is_granted(grants) {
            return Err(EgressError::NotGranted);
        }
        let found = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                let permit = self.look_ups.acquire_timeout(patience).await?;
                self.resolver.resolve(name, permit).await.map_err(EgressError::Name)?
            }
        };
        if found.is_empty() {
            return Err(EgressError::Name(io::Error::other("it has no address")));
        }
        let checked = found.into_iter().map(|address| {
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

/// Connects to the first address that answers.
async fn dial(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let tried = addresses.len().min(TRIED);
    for (index, address) in addresses.iter().take(tried).enumerate() {
        let connecting = TcpStream::connect(address);
        let connected = if index + 1 == tried {
            connecting.await
        } else {
            let slow = |_| Err(io::Error::from(io::ErrorKind::TimedOut));
            tokio::time::timeout(PATIENCE, connecting).await.unwrap_or_else(slow)
        };
        match connected {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests;
