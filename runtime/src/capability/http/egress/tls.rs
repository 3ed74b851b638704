//! TLS to the hosts that plugins connect to.

use std::io;

use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use super::EgressError;
use crate::config::Host;
use crate::outgoing_connection::{TlsError, start_tls};

/// Starts TLS with the host. The host's certificate must be valid for its name or address.
pub(super) async fn connect(host: &Host, stream: TcpStream) -> Result<TlsStream<TcpStream>, EgressError> {
    let name = match host {
        Host::Address(address) => ServerName::from(*address),
        Host::Name(name) => {
            ServerName::try_from(name.clone()).map_err(|error| EgressError::Tls(io::Error::other(error)))?
        }
    };
    start_tls(name, stream).await.map_err(|error| match error {
        TlsError::NoAuthorities => EgressError::NoAuthorities,
        TlsError::Failed(cause) => EgressError::Tls(cause),
    })
}
