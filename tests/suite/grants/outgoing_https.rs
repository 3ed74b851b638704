//! HTTPS requests of plugins: a host with a valid certificate responds, and no other host gets a request.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use plugport_tests::http_client::Client;
use plugport_tests::reload::wait_for_log_times;
use plugport_tests::server::{Builder, Server};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::json;
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// The address of all hosts.
const HERE: &str = "127.0.0.1";

/// The body of a host's response: larger than one TLS record.
const BODY: usize = 100_000;

/// A certificate authority.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate, where a server finds it.
    file: NamedTempFile,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = named(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), params.self_signed(&key).unwrap().pem()).unwrap();
        Self { issuer: Issuer::new(params, key), file }
    }

    /// A server that trusts only this authority.
    fn trusted(&self) -> Builder {
        Server::builder().env("SSL_CERT_FILE", self.file.path().to_str().unwrap()).env("SSL_CERT_DIR", "")
    }

    /// A certificate for `name`, valid between these years.
    fn certificate(&self, name: &str, from: i32, until: i32) -> ServerConfig {
        let mut params = named("a host", &[name]);
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        config.with_single_cert(vec![certificate.der().clone()], key).unwrap()
    }
}

fn named(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
    let mut params = CertificateParams::new(hosts).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// A web server with TLS only. It ends when dropped.
struct Host {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Host {
    async fn start(config: ServerConfig) -> Self {
        let listener = TcpListener::bind((HERE, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (acceptor, heads) = (TlsAcceptor::from(Arc::new(config)), Arc::<Mutex<Vec<String>>>::default());
        let seen = Arc::clone(&heads);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that does not trust the certificate disconnects.
                let _ = respond(&acceptor, stream, &seen).await;
            }
        });
        Self { address, heads, serving }
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// The heads of the requests so far.
    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn respond(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
    heads: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    heads.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
    stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n").as_bytes()).await?;
    stream.write_all(&[b'x'; BODY]).await?;
    stream.shutdown().await
}

/// The lines that grant these hosts to a guest that uses the SDK and to one that does not.
fn grants(hosts: &[&Host]) -> String {
    let urls: Vec<String> = hosts.iter().map(|host| host.url("")).collect();
    ["http_client", "functions-fetch"]
        .map(|plugin| format!("[plugins.{plugin}.grants]\nhttp = {urls:?}\n"))
        .concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_with_a_valid_certificate_answers_over_tls() {
    let authority = Authority::new("trusted");
    let host = Host::start(authority.certificate(HERE, 2_000, 3_000)).await;
    let server = authority.trusted().guest("http_client").config(&grants(&[&host])).start().await;
    let client = Client::new(server.url());
    let reply = client.call("http_client-fetch", json!({ "url": host.url("/page?x=1#top") })).await;
    assert!(reply.tool_text().starts_with(&format!("200 {BODY}\nxxx")), "{reply:?}");
    let heads = host.heads();
    assert!(heads.len() == 1 && heads[0].starts_with("GET /page?x=1 HTTP/1.1\r\n"), "{heads:?}");
    assert!(heads[0].to_lowercase().contains(&format!("\r\nhost: {}\r\n", host.address)), "{heads:?}");
    // The grant is for TLS, and for this port.
    for url in [format!("http://{}/", host.address), format!("https://{HERE}/")] {
        let reply = client.call("http_client-fetch", json!({ "url": url })).await;
        assert!(reply.tool_error().contains("does not grant the request GET "), "{reply:?}");
    }
    assert_eq!(host.heads().len(), 1);
}

/// The guest gets an error about the certificate, the log says what is wrong with it, and the host gets no request.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_with_another_certificate_gets_no_request() {
    let (authority, other_authority) = (Authority::new("trusted"), Authority::new("other"));
    let honest = Host::start(authority.certificate(HERE, 2_000, 3_000)).await;
    let liars = [
        (authority.certificate("other.test", 2_000, 3_000), "not valid for name \"127.0.0.1\""),
        (authority.certificate("127.0.0.2", 2_000, 3_000), "not valid for name \"127.0.0.1\""),
        (other_authority.certificate(HERE, 2_000, 3_000), "UnknownIssuer"),
        (authority.certificate(HERE, 2_000, 2_020), "certificate expired"),
        (authority.certificate(HERE, 2_900, 3_000), "certificate not valid yet"),
    ];
    let mut hosts = Vec::new();
    for (config, why) in liars {
        hosts.push((Host::start(config).await, why));
    }
    let all: Vec<&Host> = hosts.iter().map(|(host, _)| host).chain([&honest]).collect();
    let builder = authority.trusted().guest("http_client").guest("functions-fetch").config(&grants(&all));
    let server = builder.start().await;
    let client = Client::new(server.url());
    for (host, why) in &hosts {
        let url = json!({ "url": host.url("/") });
        let typed = client.call("functions-fetch-fetch", url.clone()).await;
        assert!(typed.tool_error().contains("TlsCertificateError"), "{why}: {typed:?}");
        let told = client.call("http_client-fetch", url).await;
        assert!(told.tool_error().contains("the host did not prove who it is"), "{why}: {told:?}");
        let begin = format!("sent nothing for GET {}: the host did not prove who it is (", host.url(""));
        // One line for each of the two calls.
        wait_for_log_times(&server, &begin, 2).await;
        let said = server.log();
        assert!(
            said.lines().filter(|line| line.contains(&begin)).all(|line| line.contains(why)),
            "{why}: {said}"
        );
        assert_eq!(host.heads(), [""; 0], "{why}");
    }
    let reply = client.call("functions-fetch-fetch", json!({ "url": honest.url("/") })).await;
    assert_eq!(reply.tool_text().len(), BODY, "{reply:?}");
}

/// Without trusted certificates every request fails, and the log says so once.
#[tokio::test(flavor = "multi_thread")]
async fn without_certificate_authorities_nothing_is_sent_and_the_log_says_why() {
    let authority = Authority::new("trusted");
    let host = Host::start(authority.certificate(HERE, 2_000, 3_000)).await;
    let builder = Server::builder().guest("http_client").config(&grants(&[&host]));
    let server = builder.env("SSL_CERT_FILE", "/nowhere/ca.pem").env("SSL_CERT_DIR", "").start().await;
    let client = Client::new(server.url());
    for _ in 0..3 {
        let reply = client.call("http_client-fetch", json!({ "url": host.url("/") })).await;
        let told = reply.tool_error();
        assert!(told.contains("could not be sent: the server knows no certificate authorities"), "{told}");
    }
    server.wait_for_log("name a file of them in SSL_CERT_FILE").await;
    let said = server.log();
    assert!(
        said.contains("/nowhere/ca.pem") && said.matches("no certificate authorities").count() == 1,
        "{said}"
    );
    assert_eq!(host.heads(), [""; 0]);
}
