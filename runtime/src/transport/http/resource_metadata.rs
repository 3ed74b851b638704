//! Protected resource metadata (RFC 9728): tells clients which authorization servers issue tokens for this server.
//!
//! A client finds a document by the path of the endpoint that it wants to use. So there is one document for Streamable
//! HTTP and one for HTTP+SSE, and each names its endpoint as the client knows it. That URI comes from `resource` in the
//! configuration and never from `Host`, which a client may choose. The documents are public: they need no token, and
//! pages of any origin may read them. They are generated once for each configuration.

use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::{cors, legacy_sse};
use crate::config::{AuthConfig, JwtAlgorithm, ResourceUri};

/// The path prefix of the documents; the path of the endpoint follows.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The methods of the documents.
const METHODS: &str = "GET, HEAD, OPTIONS";

/// The scope of refresh tokens, which concerns only a client and its authorization server (2026-07-28).
const OFFLINE_ACCESS: &str = "offline_access";

/// The documents of one configuration, each with its path after [`WELL_KNOWN`]. The first matching one is served.
type Documents = Vec<(String, Bytes)>;

/// Serves the documents of the current configuration.
#[derive(Debug)]
pub(super) struct ResourceMetadata {
    /// The path of Streamable HTTP.
    endpoint: &'static str,
    /// Whether clients may have certificates, to which a token can be bound (RFC 8705).
    has_client_certificates: bool,
    /// The documents that were generated last, and their configuration.
    written: Mutex<Option<(Arc<AuthConfig>, Documents)>>,
}

impl ResourceMetadata {
    /// `endpoint` is the path of Streamable HTTP.
    pub(super) fn new(endpoint: &'static str, has_client_certificates: bool) -> Self {
        Self { endpoint, has_client_certificates, written: Mutex::new(None) }
    }

    /// Returns the response to a request for a document; `None` if the path is not that of a document. `auth` returns
    /// the current configuration.
    pub(super) fn respond(
        &self,
        request: &Parts,
        auth: impl FnOnce() -> Option<Arc<AuthConfig>>,
    ) -> Option<Response> {
        let suffix = request.uri.path().strip_prefix(WELL_KNOWN)?;
        if !suffix.is_empty() && !suffix.starts_with('/') {
            return None;
        }
        let suffix = suffix.strip_suffix('/').unwrap_or(suffix);
        let document = auth().and_then(|auth| self.find(auth, suffix));
        let mut response = response(request, document);
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        Some(response)
    }

    fn find(&self, auth: Arc<AuthConfig>, suffix: &str) -> Option<Bytes> {
        let mut written = self.written.lock();
        if !written.as_ref().is_some_and(|(config, _)| Arc::ptr_eq(config, &auth)) {
            let documents = documents(&auth, self.endpoint, self.has_client_certificates);
            *written = Some((auth, documents));
        }
        let (_, documents) = written.as_ref()?;
        documents.iter().find(|(path, _)| path == suffix).map(|(_, document)| document.clone())
    }
}

fn response(request: &Parts, document: Option<Bytes>) -> Response {
    match (document, &request.method) {
        (_, &Method::OPTIONS) => permission(request),
        (None, _) => {
            let why =
                "there is no metadata here: no authorization server issues tokens for such an endpoint\n";
            (StatusCode::NOT_FOUND, why).into_response()
        }
        (Some(document), &Method::GET | &Method::HEAD) => {
            let headers =
                [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "public, max-age=300")];
            (headers, document).into_response()
        }
        (Some(_), _) => {
            let why = "metadata is read with GET\n";
            (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, METHODS)], why).into_response()
        }
    }
}

/// Permits every page to read the documents, and to send every header except those with credentials: SDKs send
/// `MCP-Protocol-Version`, for which a browser needs permission.
fn permission(request: &Parts) -> Response {
    let (methods, headers) = (HeaderValue::from_static(METHODS), HeaderValue::from_static("*"));
    let mut response = cors::permission(&request.headers, methods, headers);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(METHODS));
    response
}

/// Returns the URL of the document about the requested endpoint, as a client reaches it; `None` without an
/// authorization server.
pub(super) fn document_url(auth: &AuthConfig, requested: &str) -> Option<String> {
    let resource = auth.resource.as_ref().filter(|_| !auth.issuers.is_empty())?;
    let requested = requested.strip_suffix('/').unwrap_or(requested);
    let legacy = legacy_uri(resource);
    let endpoint = match requested {
        legacy_sse::STREAM | legacy_sse::MESSAGES => path(&legacy, resource),
        _ => resource.path(),
    };
    Some(format!("{}{WELL_KNOWN}{endpoint}", resource.origin()))
}

/// The scopes that the documents and challenges list.
pub(super) fn advertised<'s>(scopes: impl Iterator<Item = &'s str>) -> impl Iterator<Item = &'s str> {
    scopes.filter(|scope| *scope != OFFLINE_ACCESS)
}

/// The URI of the event stream of HTTP+SSE.
fn legacy_uri(resource: &ResourceUri) -> String {
    resource.sibling(legacy_sse::STREAM.trim_start_matches('/'))
}

/// Returns the path of a URI that has the same origin as `resource`.
fn path<'u>(uri: &'u str, resource: &ResourceUri) -> &'u str {
    uri.strip_prefix(resource.origin()).unwrap_or_default()
}

/// Generates the documents; none without an authorization server, because a document must name one.
fn documents(auth: &AuthConfig, endpoint: &str, has_client_certificates: bool) -> Documents {
    let Some(resource) = auth.resource.as_ref().filter(|_| !auth.issuers.is_empty()) else {
        return Vec::new();
    };
    let legacy = legacy_uri(resource);
    let document = |resource: &str| document(resource, auth, has_client_certificates);
    let (streamable_document, legacy_document) = (document(resource.as_str()), document(&legacy));
    // A proxy either forwards the path as the client sees it, or removes its prefix.
    vec![
        (String::new(), streamable_document.clone()),
        (resource.path().to_owned(), streamable_document.clone()),
        (path(&legacy, resource).to_owned(), legacy_document.clone()),
        (endpoint.to_owned(), streamable_document),
        (legacy_sse::STREAM.to_owned(), legacy_document),
    ]
}

fn document(resource: &str, auth: &AuthConfig, has_client_certificates: bool) -> Bytes {
    let issuers: Vec<&str> = auth.issuers.iter().map(|issuer| issuer.issuer.as_str()).collect();
    let scopes: Vec<&str> = advertised(auth.scopes.iter().map(String::as_str)).collect();
    let mut document = Map::new();
    document.insert("resource".to_owned(), json!(resource));
    document.insert("authorization_servers".to_owned(), json!(issuers));
    document.insert("bearer_methods_supported".to_owned(), json!(["header"]));
    if !scopes.is_empty() {
        document.insert("scopes_supported".to_owned(), json!(scopes));
    }
    document.insert("dpop_signing_alg_values_supported".to_owned(), json!(JwtAlgorithm::names()));
    if auth.require_dpop {
        document.insert("dpop_bound_access_tokens_required".to_owned(), json!(true));
    }
    if has_client_certificates {
        document.insert("tls_client_certificate_bound_access_tokens".to_owned(), json!(true));
    }
    Value::Object(document).to_string().into()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::config::Config;
    use http_body_util::BodyExt as _;

    /// Parses a table `[auth]`.
    pub(in super::super) fn auth(text: &str) -> AuthConfig {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plugport.toml");
        std::fs::write(&file, format!("[auth]\n{text}")).unwrap();
        Config::read(&file, dir.path().join("plugins")).unwrap().auth.unwrap()
    }

    /// The `[auth]` of a server behind a path prefix, with one authorization server.
    pub(in super::super) fn prefixed() -> AuthConfig {
        auth(
            "resource = \"https://tools.example.com/team/mcp\"\nscopes = [\"tools\", \"offline_access\"]\n\
              [[auth.issuers]]\nissuer = \"https://idp.example.com\"\n",
        )
    }

    fn request(method: Method, path: &str) -> Parts {
        let request = axum::http::Request::builder().method(method).uri(path);
        request.header("access-control-request-private-network", "true").body(()).unwrap().into_parts().0
    }

    async fn body(response: Response) -> Value {
        serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
    }

    #[tokio::test]
    async fn each_endpoint_has_its_document_at_every_path_that_a_client_may_try() {
        let (metadata, auth) = (ResourceMetadata::new("/mcp", false), Arc::new(prefixed()));
        for (suffix, resource) in [
            ("", "https://tools.example.com/team/mcp"),
            ("/", "https://tools.example.com/team/mcp"),
            ("/mcp", "https://tools.example.com/team/mcp"),
            ("/team/mcp", "https://tools.example.com/team/mcp"),
            ("/team/mcp/", "https://tools.example.com/team/mcp"),
            ("/sse", "https://tools.example.com/team/sse"),
            ("/team/sse", "https://tools.example.com/team/sse"),
        ] {
            let request = request(Method::GET, &format!("{WELL_KNOWN}{suffix}"));
            let response = metadata.respond(&request, || Some(Arc::clone(&auth))).unwrap();
            assert_eq!(response.status(), StatusCode::OK, "{suffix}");
            assert_eq!(response.headers()["content-type"], "application/json");
            assert_eq!(response.headers()["access-control-allow-origin"], "*");
            let expected = json!({
                "resource": resource,
                "authorization_servers": ["https://idp.example.com"],
                "bearer_methods_supported": ["header"],
                "scopes_supported": ["tools"],
                "dpop_signing_alg_values_supported": JwtAlgorithm::names(),
            });
            assert_eq!(body(response).await, expected, "{suffix}");
        }
    }

    #[test]
    fn other_paths_and_methods_are_answered_so_that_a_page_can_read_it() {
        let (metadata, auth) = (ResourceMetadata::new("/mcp", false), Arc::new(prefixed()));
        let status = |method: Method, path: &str| {
            let response = metadata.respond(&request(method, path), || Some(Arc::clone(&auth)))?;
            assert_eq!(response.headers()["access-control-allow-origin"], "*", "{path}");
            Some(response.status().as_u16())
        };
        assert_eq!(status(Method::HEAD, WELL_KNOWN), Some(200));
        assert_eq!(status(Method::GET, "/.well-known/oauth-protected-resource/other"), Some(404));
        assert_eq!(status(Method::POST, WELL_KNOWN), Some(405));
        assert_eq!(status(Method::OPTIONS, "/.well-known/oauth-protected-resource/other"), Some(204));
        for path in [
            "/mcp",
            "/.well-known/oauth-protected-resources",
            "/.well-known",
            "/x/.well-known/oauth-protected-resource",
        ] {
            assert_eq!(status(Method::GET, path), None, "{path}");
        }
        let preflight = metadata.respond(&request(Method::OPTIONS, WELL_KNOWN), || None).unwrap();
        assert_eq!(preflight.headers()["access-control-allow-headers"], "*");
        assert_eq!(preflight.headers()["access-control-allow-private-network"], "true");
        assert!(!preflight.headers().contains_key("access-control-allow-credentials"));
    }

    #[tokio::test]
    async fn another_configuration_has_other_documents() {
        let metadata = ResourceMetadata::new("/mcp", false);
        let request = request(Method::GET, WELL_KNOWN);
        let issuer = async |auth: Arc<AuthConfig>| {
            let document = body(metadata.respond(&request, || Some(auth)).unwrap()).await;
            document["authorization_servers"][0].clone()
        };
        let other = "resource = \"https://tools.example.com/mcp\"\n\
                     [[auth.issuers]]\nissuer = \"https://other.example.com\"\n";
        let (before, after) = (Arc::new(prefixed()), Arc::new(auth(other)));
        assert_eq!(issuer(Arc::clone(&before)).await, "https://idp.example.com");
        assert_eq!(issuer(after).await, "https://other.example.com");
        assert_eq!(issuer(before).await, "https://idp.example.com");
    }

    #[tokio::test]
    async fn a_document_says_to_what_tokens_must_or_may_be_bound() {
        let bound = "resource = \"https://tools.example.com/mcp\"\nrequire_dpop = true\n\
                     [[auth.issuers]]\nissuer = \"https://idp.example.com\"\n";
        let metadata = ResourceMetadata::new("/mcp", true);
        let document = metadata.respond(&request(Method::GET, WELL_KNOWN), || Some(Arc::new(auth(bound))));
        let document = body(document.unwrap()).await;
        assert_eq!(document["dpop_bound_access_tokens_required"], true);
        assert_eq!(document["tls_client_certificate_bound_access_tokens"], true);
    }

    #[test]
    fn without_an_authorization_server_there_is_no_document() {
        let (metadata, auth) =
            (ResourceMetadata::new("/mcp", false), Arc::new(auth("scopes = [\"tools\"]\n")));
        assert_eq!(document_url(&auth, "/mcp"), None);
        for configured in [None, Some(auth)] {
            let response = metadata.respond(&request(Method::GET, WELL_KNOWN), || configured).unwrap();
            assert_eq!(response.status(), StatusCode::NOT_FOUND);
        }
    }

    #[test]
    fn a_document_is_found_where_the_client_reaches_it() {
        let base = "https://tools.example.com/.well-known/oauth-protected-resource";
        for (requested, suffix) in [
            ("/mcp", "/team/mcp"),
            ("/mcp/", "/team/mcp"),
            ("/nowhere", "/team/mcp"),
            ("/sse", "/team/sse"),
            ("/messages", "/team/sse"),
        ] {
            assert_eq!(document_url(&prefixed(), requested), Some(format!("{base}{suffix}")), "{requested}");
        }
        let root = auth(
            "resource = \"https://tools.example.com\"\n\
             [[auth.issuers]]\nissuer = \"https://idp.example.com\"\n",
        );
        assert_eq!(document_url(&root, "/mcp"), Some(base.to_owned()));
        assert_eq!(document_url(&root, "/sse"), Some(format!("{base}/sse")));
    }
}
