//! TLS to the hosts that plugins reach.
//!
//! Certificates are trusted as the machine trusts them: an operator who adds a company's authority, or takes one away,
//! does it once for everything that runs there. A list compiled in would be as old as this program.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::config::Host;

/// Read when the first plugin needs it.
static CONNECTOR: OnceCell<TlsConnector> = OnceCell::const_new();

/// Begins TLS with the host, which has to prove that it is the one.
pub(super) async fn connect(host: &Host, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    let connector = CONNECTOR.get_or_try_init(connector).await?;
    let name = match host {
        Host::Address(address) => ServerName::from(*address),
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(io::Error::other)?,
    };
    connector.connect(name, stream).await
}

async fn connector() -> io::Result<TlsConnector> {
    tokio::task::spawn_blocking(configured).await.map_err(io::Error::other)?
}

fn configured() -> io::Result<TlsConnector> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let error =
            "no certificate authorities were found; install the system's package of them (ca-certificates)";
        tracing::error!("plugins cannot use https: {error}");
        return Err(io::Error::other(error));
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
