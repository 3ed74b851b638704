//! Tests of handshakes with certificates made for the test, and of files that change. Other tests of the listener use
//! the certificates too.

use std::fs;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    SanType, date_time_ymd,
};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio_rustls::{TlsConnector, client};

use super::*;

/// 2040-01-01.
const EXPIRY: Duration = Duration::from_secs(2_208_988_800);

/// The certificates of a server for `localhost` and of its clients, all by one authority.
pub(in super::super) struct TestFiles {
    dir: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
    authority: Certificate,
}

/// A certificate with its key.
pub(in super::super) type Identity = (CertificateDer<'static>, KeyPair);

impl TestFiles {
    pub(in super::super) fn new() -> Self {
        let mut params = named("authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap();
        let files = Self { dir: tempfile::tempdir().unwrap(), issuer: Issuer::new(params, key), authority };
        fs::write(files.path("ca.pem"), files.authority.pem()).unwrap();
        files.renew();
        files
    }

    /// The configuration with these files.
    pub(in super::super) fn config(&self, require_client: bool) -> TlsConfig {
        TlsConfig {
            cert: self.path("c.pem"),
            key: self.path("k.pem"),
            client_ca: Some(self.path("ca.pem")),
            require_client,
        }
    }

    /// A client's certificate with this common name.
    pub(in super::super) fn client_certificate(&self, name: &str) -> Identity {
        let (certificate, key) = self.issue(&named(name));
        (certificate.der().clone(), key)
    }

    /// A client that trusts the authority, and shows a certificate if it is given one.
    pub(in super::super) fn connector(&self, shown: Option<Identity>) -> TlsConnector {
        self.connector_of(&[&TLS12, &TLS13], shown)
    }

    fn connector_of(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        shown: Option<Identity>,
    ) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der().clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots);
        let config = match shown {
            Some((certificate, key)) => {
                config.with_client_auth_cert(vec![certificate], PrivateKeyDer::from(key)).unwrap()
            }
            None => config.with_no_client_auth(),
        };
        TlsConnector::from(Arc::new(config))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn issue(&self, params: &CertificateParams) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    /// Writes a new server certificate and its key.
    fn renew(&self) -> CertificateDer<'static> {
        let (certificate, key) = self.issue(&CertificateParams::new(["localhost".to_owned()]).unwrap());
        fs::write(self.path("c.pem"), certificate.pem()).unwrap();
        fs::write(self.path("k.pem"), key.serialize_pem()).unwrap();
        certificate.der().clone()
    }
}

pub(in super::super) fn localhost() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.not_after = date_time_ymd(2040, 1, 1);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

type Served = Result<TlsClient<DuplexStream>, HandshakeError>;
type Connected = io::Result<client::TlsStream<DuplexStream>>;

/// The results of both sides of a handshake.
async fn handshake(acceptor: &TlsAcceptor, connector: &TlsConnector) -> (Served, Connected) {
    let (near, far) = tokio::io::duplex(64 << 10);
    let serving = async { acceptor.accept(near).await.map_err(|failed| failed.why) };
    tokio::join!(serving, connector.connect(localhost(), far))
}

#[tokio::test]
async fn a_client_is_known_by_its_certificate() {
    let files = TestFiles::new();
    let acceptor = TlsAcceptor::load(&files.config(true)).unwrap();
    for version in [&TLS12, &TLS13] {
        let shown = files.client_certificate("ada");
        let digest: [u8; 32] = Sha256::digest(&shown.0).into();
        let (served, connected) = handshake(&acceptor, &files.connector_of(&[version], Some(shown))).await;
        let (mut served, mut connected) = (served.ok().unwrap(), connected.unwrap());
        let verified = served.certificate.unwrap();
        let certificate = verified.trusted().unwrap();
        assert_eq!((certificate.subject.as_str(), certificate.sha256), ("ada", digest));
        assert_eq!(certificate.not_after, SystemTime::UNIX_EPOCH + EXPIRY);
        served.stream.write_all(b"hello").await.unwrap();
        served.stream.shutdown().await.unwrap();
        let mut received = Vec::new();
        connected.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, b"hello");
    }
}

#[tokio::test]
async fn a_certificate_is_needed_only_where_it_is_required() {
    let files = TestFiles::new();
    for required in [false, true] {
        let acceptor = TlsAcceptor::load(&files.config(required)).unwrap();
        let (served, _connected) = handshake(&acceptor, &files.connector(None)).await;
        match served {
            Ok(client) => assert!(!required && client.certificate.is_none()),
            Err(error) => assert!(required, "{error}"),
        }
    }
    let unasked = TlsAcceptor::load(&TlsConfig { client_ca: None, ..files.config(false) }).unwrap();
    let (served, _connected) =
        handshake(&unasked, &files.connector(Some(files.client_certificate("ada")))).await;
    assert!(served.ok().unwrap().certificate.is_none());
}

#[tokio::test]
async fn certificates_that_are_not_valid_are_rejected() {
    let files = TestFiles::new();
    let acceptor = TlsAcceptor::load(&files.config(false)).unwrap();
    let mut expired = named("ada");
    expired.not_after = date_time_ymd(2020, 1, 1);
    let long = named(&"a".repeat(MAX_PRINCIPAL_NAME + 1));
    for (params, authority) in [(&named("ada"), &TestFiles::new()), (&expired, &files), (&long, &files)] {
        let (certificate, key) = authority.issue(params);
        let connector = files.connector(Some((certificate.der().clone(), key)));
        let (served, _connected) = handshake(&acceptor, &connector).await;
        assert!(served.is_err());
    }
}

#[test]
fn the_name_of_a_client_is_the_first_that_names_one() {
    let files = TestFiles::new();
    let uri = |text: &str| SanType::URI(text.try_into().unwrap());
    let dns = |text: &str| SanType::DnsName(text.try_into().unwrap());
    let mail = |text: &str| SanType::Rfc822Name(text.try_into().unwrap());
    let address = || SanType::IpAddress([192, 0, 2, 1].into());
    for (names, expected) in [
        (vec![], Some("common")),
        (vec![address()], Some("common")),
        (vec![uri("spiffe://example/a"), dns("a.example")], Some("spiffe://example/a")),
        (vec![dns("a.example"), uri("spiffe://example/a")], Some("a.example")),
        (vec![address(), mail("a@example.com")], Some("a@example.com")),
        (vec![dns(""), dns("a.example")], None),
        (vec![uri("a\nb"), dns("a.example")], None),
        (vec![mail("a@example.com "), dns("a.example")], None),
        (vec![uri(&"a".repeat(MAX_PRINCIPAL_NAME))], Some(&*"a".repeat(MAX_PRINCIPAL_NAME))),
        (vec![uri(&"a".repeat(MAX_PRINCIPAL_NAME + 1)), dns("a.example")], None),
    ] {
        let mut params = named("common");
        params.subject_alt_names = names;
        let read = certificate::read(files.issue(&params).0.der());
        assert_eq!(
            read.as_ref().map(|read| read.subject.as_str()),
            expected,
            "{:?}",
            params.subject_alt_names
        );
    }
    for (common, expected) in [
        ("Ada Lovelace", true),
        ("", false),
        ("a\u{202e}b", false),
        ("a\0b", false),
        ("ada\u{fe0f}", false),
        ("ada\u{e0100}", false),
        ("a\u{a0}b", false),
        (" ada", false),
        ("ada ", false),
    ] {
        assert_eq!(certificate::read(files.issue(&named(common)).0.der()).is_some(), expected, "{common:?}");
    }
    let mut two = named("one");
    two.distinguished_name.push(DnType::CustomDnType(vec![2, 5, 4, 3]), "two");
    assert!(certificate::read(files.issue(&two).0.der()).is_none());
}

#[test]
fn files_that_cannot_be_used_are_rejected_with_advice() {
    let other = TestFiles::new();
    let mut sealed = fs::read_to_string(other.path("k.pem")).unwrap();
    sealed = sealed.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let damaged = fs::read_to_string(other.path("c.pem")).unwrap().replace("-----END", "*----END");
    let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let no_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    for (name, contents, reason) in [
        ("c.pem", "", "holds no certificate in PEM"),
        ("c.pem", &damaged, "is damaged"),
        ("c.pem", garbage, "cannot be used"),
        ("c.pem", &"x".repeat(70_000), "is larger than 64 KiB"),
        ("k.pem", "", "holds no private key in PEM"),
        ("k.pem", &sealed, "is encrypted"),
        ("k.pem", no_key, "is of a kind that is not supported"),
        (
            "k.pem",
            &fs::read_to_string(other.path("k.pem")).unwrap(),
            "does not belong to the first certificate",
        ),
        ("ca.pem", "", "holds no certificate in PEM"),
        ("ca.pem", garbage, "cannot be used"),
    ] {
        let files = TestFiles::new();
        fs::write(files.path(name), contents).unwrap();
        let error = TlsAcceptor::load(&files.config(false)).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains(name), "{reason}: {error}");
    }
    let files = TestFiles::new();
    let error = |config: TlsConfig| TlsAcceptor::load(&config).unwrap_err().to_string();
    let missing = TlsConfig { key: files.path("no.pem"), ..files.config(false) };
    assert!(error(missing).contains("check its path and mode"));
    let folder = TlsConfig { cert: files.path("."), ..files.config(false) };
    assert!(error(folder).contains("is not a regular file"));
}

#[tokio::test]
async fn changed_files_are_used_by_new_connections_unless_they_are_broken() {
    let files = TestFiles::new();
    let before = files.renew();
    let acceptor = Arc::new(TlsAcceptor::load(&files.config(false)).unwrap());
    let stop = CancellationToken::new();
    let reloading = tokio::spawn({
        let (acceptor, stop) = (Arc::clone(&acceptor), stop.clone());
        async move { acceptor.reload(&stop).await }
    });
    let served = async || {
        let (_served, connected) = handshake(&acceptor, &files.connector(None)).await;
        connected.unwrap().get_ref().1.peer_certificates().unwrap()[0].clone()
    };
    fs::write(files.path("c.pem"), "broken").unwrap();
    tokio::time::sleep(4 * RELOAD_INTERVAL).await;
    assert_eq!(served().await, before);
    let after = files.renew();
    let begun = Instant::now();
    while served().await != after {
        assert!(begun.elapsed() < Duration::from_secs(20), "the new certificate is not used");
        tokio::time::sleep(RELOAD_INTERVAL).await;
    }
    stop.cancel();
    reloading.await.unwrap();
}

#[tokio::test]
async fn a_client_without_tls_is_told_from_one_that_stalls() {
    let acceptor = TlsAcceptor::load(&TestFiles::new().config(false)).unwrap();
    for (sent, is_plain) in
        [(&b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"[..], true), (b"\x16\x03\x01", false)]
    {
        let (near, mut far) = tokio::io::duplex(64 << 10);
        far.write_all(sent).await.unwrap();
        let failed = acceptor.accept(near).await.err().unwrap();
        assert_eq!(matches!(failed.why, HandshakeError::NotTls), is_plain, "{}", failed.why);
        assert_eq!(matches!(failed.why, HandshakeError::Late), !is_plain, "{}", failed.why);
        assert_eq!(failed.stream.is_some(), is_plain);
    }
}
