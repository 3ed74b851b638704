//! The metadata of an issuer: the URLs of its keys and of its introspection endpoint.
//!
//! The URLs of the metadata are tried in the order of the MCP specification ("Authorization Server Metadata
//! Discovery"): RFC 8414 before OpenID Connect; of the latter, first with the well-known name before the issuer's path,
//! then behind it. A document must contain exactly the configured issuer (RFC 8414, 3.3), because with the metadata of
//! another issuer, that other issuer could sign tokens.

use std::sync::Arc;
use std::time::SystemTime;

use futures_util::FutureExt as _;
use serde_json::Value;

use super::fetch::{Fetch, FetchError, FetchRequest};
use super::remote_document::{Loaded, RemoteDocument, Unavailable};
use super::strict_json;
use crate::config::{Endpoint, Scheme};

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// The members of the metadata that this server uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Metadata {
    pub(super) jwks: Option<Endpoint>,
    pub(super) introspection: Option<Endpoint>,
}

/// The metadata of one issuer, fetched when it is needed.
#[derive(Debug)]
pub(super) struct Discovery(RemoteDocument<Metadata>);

impl Discovery {
    pub(super) fn new(issuer: &Arc<str>, fetcher: &Arc<dyn Fetch>) -> Self {
        let (issuer, fetcher) = (Arc::clone(issuer), Arc::clone(fetcher));
        Self(RemoteDocument::new(format!("the metadata of {issuer}"), move |_| {
            let (issuer, fetcher) = (Arc::clone(&issuer), Arc::clone(&fetcher));
            async move { discover(&issuer, &*fetcher).await }.boxed()
        }))
    }

    /// The metadata.
    pub(super) async fn metadata(&self, now: SystemTime) -> Result<Arc<Metadata>, Unavailable> {
        self.0.get(|_| true, None, now).await
    }
}

/// Fetches the first document that belongs to the issuer. The next URL is tried only if the issuer's host answered: an
/// unreachable host is not tried three times.
async fn discover(issuer: &str, fetcher: &dyn Fetch) -> Result<Loaded<Metadata>, FetchError> {
    let mut last = FetchError::NoMetadata;
    for endpoint in well_known(issuer) {
        last = match fetcher.fetch(FetchRequest::get(endpoint)).await {
            Ok(fetched) => match read(&fetched.body, issuer) {
                Ok(value) => return Ok(Loaded { value, max_age: fetched.max_age }),
                Err(why) => FetchError::Document(why.into()),
            },
            Err(error @ FetchError::Status(_)) => error,
            Err(error) => return Err(error),
        };
    }
    Err(last)
}

/// The URLs where the metadata may be, in order. The configuration has checked that `issuer` is a URL.
fn well_known(issuer: &str) -> Vec<Endpoint> {
    let Ok(endpoint) = Endpoint::parse(issuer) else { return Vec::new() };
    let path = endpoint.path().trim_end_matches('/');
    let mut paths = vec![format!("{OAUTH}{path}"), format!("{OPENID}{path}")];
    if !path.is_empty() {
        paths.push(format!("{path}{OPENID}"));
    }
    paths.into_iter().map(|path| endpoint.with_path(path)).collect()
}

fn read(text: &[u8], issuer: &str) -> Result<Metadata, &'static str> {
    let document = strict_json::object(text).map_err(|_| "it is no JSON object")?;
    if document.get("issuer").and_then(Value::as_str) != Some(issuer) {
        return Err(
            "its `issuer` is another one; write `issuer` in the configuration exactly as the document has it",
        );
    }
    let endpoint = |name: &str| {
        let Some(value) = document.get(name) else { return Ok(None) };
        let endpoint = value.as_str().and_then(|url| Endpoint::parse(url).ok());
        // Otherwise a remote issuer could make this server send requests to its own machine.
        let is_allowed =
            |endpoint: &Endpoint| endpoint.scheme() == Scheme::Https || issuer.starts_with("http://");
        endpoint.filter(is_allowed).map(Some).ok_or("it names a URL that does not begin with https://")
    };
    Ok(Metadata { jwks: endpoint("jwks_uri")?, introspection: endpoint("introspection_endpoint")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::oauth::tests::fake_fetch::FakeFetch;

    fn urls(issuer: &str) -> Vec<String> {
        well_known(issuer).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn documents_are_looked_for_in_the_order_of_the_specification() {
        let root = [
            "https://idp.example.com/.well-known/oauth-authorization-server",
            "https://idp.example.com/.well-known/openid-configuration",
        ];
        assert_eq!(urls("https://idp.example.com"), root);
        assert_eq!(urls("https://idp.example.com/"), root);
        let team = [
            "https://idp.example.com/.well-known/oauth-authorization-server/team/a",
            "https://idp.example.com/.well-known/openid-configuration/team/a",
            "https://idp.example.com/team/a/.well-known/openid-configuration",
        ];
        assert_eq!(urls("https://idp.example.com/team/a"), team);
        assert_eq!(urls("https://idp.example.com/team/a/"), team);
    }

    #[tokio::test]
    async fn a_document_of_another_issuer_is_not_used() {
        let issuer: Arc<str> = "https://idp.example.com/a".into();
        let fake = Arc::new(FakeFetch::default());
        let fetcher: Arc<dyn Fetch> = fake.clone();
        let urls = urls(&issuer);
        let [first, second, third] = &urls[..] else { panic!("not three documents") };
        fake.publish(first, r#"{"issuer":"https://idp.example.com/b","jwks_uri":"https://b.example.com/"}"#);
        fake.publish(
            second,
            r#"{"issuer":"https://idp.example.com/a/","jwks_uri":"https://b.example.com/"}"#,
        );
        fake.publish(
            third,
            r#"{"issuer":"https://idp.example.com/a","jwks_uri":"https://a.example.com/keys"}"#,
        );
        let metadata = Discovery::new(&issuer, &fetcher).metadata(SystemTime::now()).await.unwrap();
        assert_eq!(metadata.jwks, Endpoint::parse("https://a.example.com/keys").ok());
        assert_eq!((&metadata.introspection, fake.count(first)), (&None, 1));
    }

    #[test]
    fn a_document_names_only_urls_that_are_protected() {
        let read = |issuer: &str, url: &str| {
            let text = format!("{{\"issuer\":\"{issuer}\",\"jwks_uri\":\"{url}\"}}");
            read(text.as_bytes(), issuer)
        };
        assert!(read("https://idp.example.com", "https://keys.example.com/").is_ok());
        assert!(read("https://idp.example.com", "http://127.0.0.1:7584/keys").is_err());
        assert!(read("http://127.0.0.1:9000", "http://127.0.0.1:9000/keys").is_ok());
        assert!(read("http://127.0.0.1:9000", "http://192.0.2.1/keys").is_err());
        assert!(read("https://idp.example.com", "file:///etc/passwd").is_err());
        assert!(super::read(b"[]", "https://idp.example.com").is_err());
    }
}
