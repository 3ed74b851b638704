//! Abuses the interface `http-client`.

use plugport_sdk::prelude::*;

mod http {
    wit_bindgen::generate!({ path: "../../wit", world: "http" });
    pub(crate) use plugport::plugin::http_client;
}

use http::http_client::{Body, Failure, Request, SentRequest, send, wait};

fn begin(url: &str, body: Body) -> Result<SentRequest, Failure> {
    let method = if matches!(body, Body::Bytes(_)) { "GET" } else { "POST" };
    let (method, url) = (method.to_owned(), url.to_owned());
    send(&Request { method, url, headers: Vec::new(), body, timeout_ms: None })
}

fn get(url: &str) -> Result<SentRequest, Failure> {
    begin(url, Body::Bytes(Vec::new()))
}

/// Begin very many requests, and wait for their responses without reading any of them.
#[tool]
fn hoard(url: String, count: usize) -> String {
    let begun: Vec<_> = (0..count).map(|_| get(&url)).collect();
    let refused = begun.iter().find_map(|begun| begun.as_ref().err()).map(|why| format!("{why:?}"));
    let begun: Vec<_> = begun.into_iter().flatten().collect();
    let outcomes: Vec<_> = begun.iter().map(SentRequest::response).collect();
    let failed = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).next_back();
    let answered = outcomes.iter().flatten().count();
    format!("{} begun, {answered} answered, {failed:?}, {refused:?}", begun.len())
}

/// Wait for one request, named very many times.
#[tool]
fn crowd(url: String, count: usize) -> String {
    match get(&url) {
        Ok(request) => format!("{:?}", wait(&vec![&request; count], Some(1)).len()),
        Err(failure) => format!("{failure:?}"),
    }
}

/// Write without end to a host that reads nothing.
#[tool]
fn flood(url: String) -> String {
    let request = match begin(&url, Body::Pieces(None)) {
        Ok(request) => request,
        Err(failure) => return format!("{failure:?}"),
    };
    let piece = vec![b'x'; 64 << 10];
    while request.write(&piece).unwrap_or_default() {}
    format!("{:?}", request.response().err())
}

/// Hand over texts that are as long as one call may hand over.
#[tool]
fn texts(url: String) -> String {
    let long = "x".repeat(3 << 20);
    let request = |url: &str, method: &str, header: &str| Request {
        method: method.to_owned(),
        url: url.to_owned(),
        headers: vec![(header.to_owned(), header.to_owned())],
        body: Body::Bytes(Vec::new()),
        timeout_ms: None,
    };
    let failures = [
        send(&request(&format!("{url}{long}"), "GET", "a")).err(),
        send(&request(&url, &long, "a")).err(),
        send(&request(&url, "GET", &long)).err(),
    ];
    let words = failures.iter().map(|failure| match failure {
        Some(Failure::Invalid(_)) => "invalid",
        Some(Failure::OverLimit(limit)) => limit,
        Some(_) => "another failure",
        None => "sent",
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Work as usual.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [hoard, crowd, flood, texts, ok] }
