//! Sends requests whose target differs from their authority, so that the host checks one and the web server gets the
//! other (GHSA-5qpp-g3j2-8frx).

use plugport_sdk::prelude::*;
use plugport_test_guests::http::{begin, drain, request, wait};
use wasip2::http::types::{Fields, OutgoingRequest, Scheme};

/// Send each trick to `authority`, meaning `other`; how each ended.
#[tool]
fn tricks(authority: String, other: String) -> String {
    let mut lines = Vec::new();
    for path in [
        format!("http://{other}/absolute"),
        format!("//{other}/slashes"),
        format!("@{other}/user"),
        format!("/path HTTP/1.1\r\nHost: {other}\r\n\r\nGET /smuggled"),
        "*".to_owned(),
        String::new(),
        "?query".to_owned(),
    ] {
        lines.push(format!("path {path:?}: {}", sent("GET", &authority, &path)));
    }
    for authority in [
        format!("{authority}@{other}"),
        format!("{other}@{authority}"),
        format!("{authority}/@{other}"),
        format!("{authority}\r\nHost: {other}"),
        format!("{authority}#{other}"),
        format!("{authority}?{other}"),
        format!("{authority},{other}"),
        String::new(),
    ] {
        lines.push(format!("authority {authority:?}: {}", sent("GET", &authority, "/")));
    }
    for method in ["CONNECT", "TRACE", "GET / HTTP/1.1\r\nX: y\r\n\r\nGET", &"M".repeat(1 << 20)] {
        let shown: String = method.chars().take(20).collect();
        lines.push(format!("method {shown:?}: {}", sent(method, &authority, "/")));
    }
    for name in ["host", "Host", "transfer-encoding", "connection", "upgrade", "proxy-authorization"] {
        let headers = Fields::new();
        let appended = headers.append(name, other.as_bytes());
        lines.push(format!("header {name}: {appended:?}"));
    }
    lines.push(format!("length: {}", lied(&authority)));
    lines.join("\n")
}

fn sent(method: &str, authority: &str, path: &str) -> String {
    let answer = request(method, Scheme::Http, authority, path)
        .and_then(|request| begin(request, None))
        .and_then(|future| wait(&future));
    match answer {
        Err(code) => code,
        Ok(response) => format!("status {} {:?}", response.status(), drain(&response)),
    }
}

/// A content-length that has no content.
fn lied(authority: &str) -> String {
    let headers = Fields::new();
    let _ = headers.append("content-length", b"50");
    let request = OutgoingRequest::new(headers);
    let _ = request.set_scheme(Some(&Scheme::Http));
    let _ = request.set_authority(Some(authority));
    let _ = request.set_path_with_query(Some("/length"));
    let answer = begin(request, None).and_then(|future| wait(&future));
    answer.map_or_else(|code| code, |response| format!("status {}", response.status()))
}

/// Work as usual.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [tricks, ok] }
