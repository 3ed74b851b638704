//! CORS: which responses a web page in a browser may read.
//!
//! A browser sends a page's requests in any case; [`origin_check`](super::origin_check) rejects those of pages that are
//! not allowed. Here pages of allowed origins get permission to read the responses, including errors: a page that
//! cannot read a 401 cannot start a login. Before most requests a browser asks for permission with a preflight request,
//! which has no token and is answered before authentication. Cookies are never allowed. `*` is used only for the
//! documents of [`resource_metadata`](super::resource_metadata), which every page may read.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

/// The methods that pages may use.
const METHODS: &str = "GET, POST, DELETE";

/// The headers that pages may send: those of MCP, of authorization and of tracing.
const REQUEST_HEADERS: &str = "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Session-Id, \
                               Last-Event-ID, Mcp-Method, Mcp-Name, DPoP, traceparent, tracestate";

/// The prefix of headers that repeat a tool's arguments (`x-mcp-header`, 2026-07-28). The tool defines the rest of the
/// name.
const PARAM_PREFIX: &str = "mcp-param-";

/// The response headers that pages may read, besides those that CORS always exposes.
const EXPOSED_HEADERS: &str = "Mcp-Session-Id, WWW-Authenticate, Retry-After, MCP-Protocol-Version";

/// For how many seconds a browser may remember the permission.
const MAX_AGE: &str = "600";

/// The headers with which a browser asks whether a public page may reach a server in a private network or on the
/// browser's own machine, and with which the server permits it.
const REQUEST_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// Returns the response to a preflight from `origin`, which is the request's origin if that is allowed. Returns `None`
/// if the request is not a preflight of an allowed origin. The response still needs [`add_headers`].
pub(super) fn preflight(request: &Parts, origin: Option<&HeaderValue>) -> Option<Response> {
    origin.filter(|_| is_preflight(request))?;
    let methods = HeaderValue::from_static(METHODS);
    Some(permission(&request.headers, methods, request_headers(&request.headers)))
}

/// Whether a request is a preflight.
fn is_preflight(request: &Parts) -> bool {
    request.method == Method::OPTIONS
        && request.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        && request.headers.contains_key(header::ORIGIN)
}

/// Makes a response that permits these methods and headers.
pub(super) fn permission(request: &HeaderMap, methods: HeaderValue, headers: HeaderValue) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let permitted = response.headers_mut();
    permitted.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    permitted.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, headers);
    permitted.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
    if request.get(REQUEST_PRIVATE_NETWORK).is_some_and(|asked| asked == "true") {
        permitted.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    response
}

/// Permits the page to read a response, if the origin of the page is allowed.
pub(super) fn add_headers<B>(origin: Option<&HeaderValue>, response: &mut Response<B>) {
    let headers = response.headers_mut();
    // Set even without an origin, because a cache must not serve that response to a page.
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    }
}

/// Returns the headers that a page may send: the fixed ones, and the requested ones that repeat arguments. The limit on
/// a request's header bounds their number.
fn request_headers(request: &HeaderMap) -> HeaderValue {
    let lines = request.get_all(header::ACCESS_CONTROL_REQUEST_HEADERS).iter();
    let names = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(',')).map(str::trim);
    let mut allowed = REQUEST_HEADERS.to_owned();
    for name in names.filter(|name| repeats_argument(name)) {
        allowed.push_str(", ");
        allowed.push_str(name);
    }
    HeaderValue::from_str(&allowed).unwrap_or(HeaderValue::from_static(REQUEST_HEADERS))
}

fn repeats_argument(name: &str) -> bool {
    let prefix = name.get(..PARAM_PREFIX.len());
    prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(PARAM_PREFIX))
        && HeaderName::from_bytes(name.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "http://localhost:6274";

    /// A request with these headers, and the origin of the page if it is allowed.
    fn request(method: Method, headers: &[(&str, &str)]) -> Parts {
        let mut request = axum::http::Request::builder().method(method).uri("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn header<'r>(response: &'r Response, name: &str) -> Option<&'r str> {
        response.headers().get(name).map(|value| value.to_str().unwrap())
    }

    fn asked(more: &[(&str, &str)]) -> Parts {
        let base = [("origin", PAGE), ("access-control-request-method", "POST")];
        request(Method::OPTIONS, &[&base[..], more].concat())
    }

    #[test]
    fn a_page_of_an_allowed_origin_gets_permission() {
        let origin = HeaderValue::from_static(PAGE);
        let headers = [("access-control-request-headers", "authorization,content-type,x-other")];
        let mut response = preflight(&asked(&headers), Some(&origin)).unwrap();
        add_headers(Some(&origin), &mut response);
        assert_eq!(response.status(), StatusCode::NO_CONTENT);
        for (name, value) in [
            ("access-control-allow-origin", PAGE),
            ("access-control-allow-methods", "GET, POST, DELETE"),
            ("access-control-allow-headers", REQUEST_HEADERS),
            ("access-control-max-age", "600"),
            ("vary", "Origin"),
        ] {
            assert_eq!(header(&response, name), Some(value), "{name}");
        }
        assert_eq!(header(&response, "access-control-allow-private-network"), None);
        assert_eq!(header(&response, "access-control-allow-credentials"), None);
    }

    #[test]
    fn only_headers_that_repeat_arguments_are_repeated() {
        let origin = HeaderValue::from_static(PAGE);
        let lines = [
            ("access-control-request-headers", "x-other,mcp-param-region, Mcp-Param-City ,mcp-par"),
            ("access-control-request-headers", "mcp-param-a b,mcp-param-n"),
        ];
        let response = preflight(&asked(&lines), Some(&origin)).unwrap();
        let allowed = header(&response, "access-control-allow-headers").unwrap();
        assert_eq!(
            allowed.strip_prefix(REQUEST_HEADERS),
            Some(", mcp-param-region, Mcp-Param-City, mcp-param-n")
        );
    }

    #[test]
    fn a_public_page_may_reach_a_private_server_when_its_browser_asks() {
        let origin = HeaderValue::from_static(PAGE);
        let response =
            preflight(&asked(&[("access-control-request-private-network", "true")]), Some(&origin)).unwrap();
        assert_eq!(header(&response, "access-control-allow-private-network"), Some("true"));
    }

    #[test]
    fn other_requests_and_origins_get_no_permission() {
        let origin = HeaderValue::from_static(PAGE);
        assert!(preflight(&asked(&[]), None).is_none(), "its origin is not allowed");
        for other in [
            request(Method::OPTIONS, &[("origin", PAGE)]),
            request(Method::OPTIONS, &[("access-control-request-method", "POST")]),
            request(Method::POST, &[("origin", PAGE), ("access-control-request-method", "POST")]),
        ] {
            assert!(preflight(&other, Some(&origin)).is_none(), "{other:?}");
        }
    }

    #[test]
    fn errors_can_be_read_too_and_no_cache_mixes_them_up() {
        let origin = HeaderValue::from_static(PAGE);
        let mut response = StatusCode::UNAUTHORIZED.into_response();
        add_headers(Some(&origin), &mut response);
        assert_eq!(header(&response, "access-control-allow-origin"), Some(PAGE));
        let exposed = header(&response, "access-control-expose-headers").unwrap();
        assert!(exposed.contains("WWW-Authenticate") && exposed.contains("Mcp-Session-Id"));
        let mut response = StatusCode::FORBIDDEN.into_response();
        add_headers(None, &mut response);
        assert_eq!(header(&response, "vary"), Some("Origin"));
        assert_eq!(header(&response, "access-control-allow-origin"), None);
    }
}
