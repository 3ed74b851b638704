//! `[server.tls]` on the real binary: HTTPS, certificates that are renewed, and clients that show certificates.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use data_encoding::BASE64URL_NOPAD;
use plugport_tests::authorization_server::AuthorizationServer;
use plugport_tests::http_client::stateless_meta;
use plugport_tests::raw_http::{RawConnection, RawResponse};
use plugport_tests::server::Server;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The server looks at its files every 2 seconds.
const RENEWAL: Duration = Duration::from_secs(20);

const TOKEN: &str = "plugport_in-the-clear-0123456789abcdefghijklmnop";

/// A certificate authority.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
}

/// A certificate with its key.
type Identity = (Certificate, KeyPair);

type Https = RawConnection<TlsStream<TcpStream>>;

impl Authority {
    fn new() -> Self {
        let mut params = named("an authority", &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    fn issue(&self, name: &str, hosts: &[&str]) -> Identity {
        let key = KeyPair::generate().unwrap();
        (named(name, hosts).signed_by(&key, &self.issuer).unwrap(), key)
    }

    /// Gives the server in this folder a new certificate, and returns it.
    fn renew(&self, folder: &Path) -> CertificateDer<'static> {
        let (certificate, key) = self.issue("a server", &["localhost"]);
        fs::write(folder.join("cert.pem"), certificate.pem()).unwrap();
        fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
        certificate.der().clone()
    }

    /// Starts a server with a certificate of this authority, which trusts its clients' certificates.
    async fn server(&self, config: &str) -> (Server, CertificateDer<'static>) {
        let tls = "[server.tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\nclient_ca = \"ca.pem\"\n";
        let builder = Server::builder().guest("polite").config(&format!("{tls}{config}"));
        fs::write(builder.folder().join("ca.pem"), self.certificate.pem()).unwrap();
        let certificate = self.renew(builder.folder());
        let server = builder.start().await;
        assert!(server.url().starts_with("https://"), "{}", server.url());
        (server, certificate)
    }

    /// Connects as a client that trusts this authority, and shows a certificate if it has one.
    async fn connect(
        &self,
        server: &Server,
        shown: Option<Identity>,
    ) -> std::io::Result<(Https, CertificateDer<'static>)> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.der().clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
        let config = match shown {
            Some((certificate, key)) => {
                let chain = vec![certificate.der().clone()];
                config.with_client_auth_cert(chain, PrivateKeyDer::from(key)).unwrap()
            }
            None => config.with_no_client_auth(),
        };
        let tcp = TcpStream::connect(address(server)).await?;
        let localhost = ServerName::try_from("localhost").unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(localhost, tcp).await?;
        let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let certificate = certificates.first().expect("a server has a certificate").clone();
        Ok((RawConnection::over(stream), certificate))
    }
}

fn named(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
    let mut params = CertificateParams::new(hosts).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn address(server: &Server) -> String {
    server.url().replace("https://", "").replace("/mcp", "")
}

/// A request that calls a tool, with more lines in its header.
fn request(server: &Server, more: &str) -> String {
    let params = json!({ "name": "polite-whoami", "arguments": {}, "_meta": stateless_meta() });
    post(server, "tools/call", &params, &format!("Mcp-Name: polite-whoami\r\n{more}"))
}

fn post(server: &Server, method: &str, params: &serde_json::Value, more: &str) -> String {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: {method}\r\n{more}Content-Length: {length}\r\n\r\n{body}",
        host = address(server),
        length = body.len()
    )
}

async fn call(connection: &mut Https, server: &Server) -> RawResponse {
    connection.send(request(server, "")).await;
    connection.response().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_shown_without_a_restart() {
    let authority = Authority::new();
    let (server, first) = authority.server("").await;
    let (mut open, shown) = authority.connect(&server, None).await.unwrap();
    assert_eq!(shown, first);
    assert_eq!(call(&mut open, &server).await.status, 200);

    // A certificate without its key: the server keeps what it has, and says so.
    let (other, _) = authority.issue("a server", &["localhost"]);
    fs::write(server.folder().join("cert.pem"), other.pem()).unwrap();
    server.wait_for_log("the old ones stay").await;
    assert_eq!(authority.connect(&server, None).await.unwrap().1, first);

    let second = authority.renew(server.folder());
    let begun = Instant::now();
    while authority.connect(&server, None).await.unwrap().1 != second {
        assert!(begun.elapsed() < RENEWAL, "the old certificate stays:\n{}", server.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(call(&mut open, &server).await.status, 200, "an open connection goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_names_the_principal() {
    let authority = Authority::new();
    let (server, _) = authority.server("[auth]\n").await;
    let (mut without, _) = authority.connect(&server, None).await.unwrap();
    let response = call(&mut without, &server).await;
    assert_eq!(response.status, 401, "a certificate may be shown, and this client shows none: {response:?}");

    for (common_name, hosts, principal) in
        [("ada", &[][..], "cert:ada"), ("bob", &["bob.example.com"][..], "cert:bob.example.com")]
    {
        let identity = authority.issue(common_name, hosts);
        let (mut connection, _) = authority.connect(&server, Some(identity)).await.unwrap();
        let response = call(&mut connection, &server).await;
        assert_eq!(response.status, 200, "{response:?}");
        // The guest has read it with `call.principal()`.
        assert!(response.body.contains(&format!("\"principal\":\"{principal}\"")), "{response:?}");
        let of_caller = |line: &serde_json::Value| line["event"] == "call" && line["caller"] == principal;
        server.wait_for_audit_lines(of_caller, 1).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_bound_to_a_certificate_needs_it() -> Result<()> {
    let (issuer, authority) = (AuthorizationServer::start(&[]).await?, Authority::new());
    let resource = "https://tools.example.com/mcp";
    let auth =
        format!("[auth]\nresource = \"{resource}\"\n[[auth.issuers]]\nissuer = \"{}\"\n", issuer.issuer);
    let (server, _) = authority.server(&auth).await;
    let (own, other) = (authority.issue("ada", &[]), authority.issue("bob", &[]));
    let thumbprint = BASE64URL_NOPAD.encode(&Sha256::digest(own.0.der()));
    let claims = json!({ "aud": resource, "cnf": { "x5t#S256": thumbprint } });
    let token = issuer.mint(&json!({ "claims": claims })).await?;
    let request = request(&server, &format!("Authorization: Bearer {token}\r\n"));
    for (what, shown, status) in
        [("its own", Some(own), 200), ("another", Some(other), 401), ("none", None, 401)]
    {
        let (mut connection, _) = authority.connect(&server, shown).await?;
        connection.send(&request).await;
        let response = connection.response().await;
        ensure!(response.status == status, "{what}: {response:?}");
        let is_told = response.head.contains("www-authenticate: bearer error=\"invalid_token\"");
        ensure!(is_told == (status == 401), "{what}: {response:?}");
        // The token names the principal, and not the certificate.
        let is_of_token = response.body.contains(&format!("\"principal\":\"oauth:{}#alice\"", issuer.issuer));
        ensure!(is_of_token == (status == 200), "{what}: {response:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_another_authority_is_refused() {
    let authority = Authority::new();
    let (server, _) = authority.server("[auth]\nanonymous = \"allow\"\n").await;
    let forged = Authority::new().issue("ada", &["ada.example.com"]);
    // With TLS 1.3 the client takes the handshake for done before the server has seen the certificate.
    if let Ok((mut connection, _)) = authority.connect(&server, Some(forged)).await {
        assert!(connection.is_closed().await, "the connection stays open");
    }
    let (mut anonymous, _) = authority.connect(&server, None).await.unwrap();
    assert_eq!(call(&mut anonymous, &server).await.status, 200, "the server goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_is_removed_ends_the_connections_of_its_clients() {
    let (authority, next) = (Authority::new(), Authority::new());
    let (server, _) = authority.server("[auth]\n").await;
    let connect = async |of: &Authority| {
        let connected = authority.connect(&server, Some(of.issue("ada", &[]))).await;
        connected.unwrap().0
    };
    let trust = |authorities: &[&Authority]| {
        let pem: String = authorities.iter().map(|authority| authority.certificate.pem()).collect();
        fs::write(server.folder().join("ca.pem"), pem).unwrap();
    };
    let (mut open, mut listens) = (connect(&authority).await, connect(&authority).await);
    let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": stateless_meta() });
    listens.send(post(&server, "subscriptions/listen", &params, "")).await;
    assert_eq!(listens.response().await.status, 200);

    trust(&[&authority, &next]);
    server.wait_for_log("use the changed files").await;
    assert_eq!(call(&mut open, &server).await.status, 200, "its authority is still there");
    assert_eq!(call(&mut connect(&next).await, &server).await.status, 200);

    trust(&[&next]);
    server.wait_for_log("has lost an authority").await;
    let begun = Instant::now();
    assert!(open.is_closed().await, "the connection stays open");
    listens.rest().await;
    // An idle connection would end by itself too, after ten seconds.
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
    assert_eq!(call(&mut connect(&next).await, &server).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_can_be_required() {
    let authority = Authority::new();
    let (server, _) = authority.server("client_certificates = \"require\"\n").await;
    if let Ok((mut connection, _)) = authority.connect(&server, None).await {
        assert!(connection.is_closed().await, "the connection stays open");
    }
    let identity = authority.issue("ada", &[]);
    let (mut connection, _) = authority.connect(&server, Some(identity)).await.unwrap();
    assert_eq!(call(&mut connection, &server).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_to_the_port_of_tls_ends_at_once() {
    let authority = Authority::new();
    let (server, _) = authority.server("").await;
    let mut plain = RawConnection::to(&server.url().replace("https://", "http://")).await;
    let begun = Instant::now();
    plain.send(request(&server, &format!("Authorization: Bearer {TOKEN}\r\n"))).await;
    let rest = plain.rest().await;
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
    // An alert of TLS, of which a client of HTTP can read nothing.
    assert!(rest.len() <= 7, "{:?}", String::from_utf8_lossy(&rest));
    assert!(
        !server.log().contains(TOKEN) && server.audit().iter().all(|line| !line.to_string().contains(TOKEN))
    );
}
