//! Reads all that a hostile web server sends, and requests more.

use std::collections::BTreeMap;

use plugport_sdk::prelude::*;
use plugport_test_guests::http::{begin, drain, get, request, wait};
use wasip2::http::types::{RequestOptions, Scheme};

/// Read an answer to its end: its status, bytes and how it ended.
#[tool]
fn pull(authority: String, path: String) -> String {
    match get(Scheme::Http, &authority, &path) {
        Err(code) => code,
        Ok(response) => {
            let (bytes, end) = drain(&response);
            format!("{} {bytes} {end}", response.status())
        }
    }
}

/// Begin many requests at the same time and keep them; how each ended, counted.
#[tool]
fn parallel(authority: String, path: String, count: usize) -> String {
    let mut ends = BTreeMap::<String, usize>::new();
    let mut futures = Vec::new();
    for _ in 0..count {
        match request("GET", Scheme::Http, &authority, &path).and_then(|request| begin(request, None)) {
            Ok(future) => futures.push(future),
            Err(code) => *ends.entry(code).or_default() += 1,
        }
        if futures.len() >= 100 {
            settle(&mut futures, &mut ends);
        }
    }
    settle(&mut futures, &mut ends);
    let lines: Vec<String> = ends.into_iter().map(|(end, count)| format!("{end} {count}")).collect();
    lines.join("\n")
}

fn settle(
    futures: &mut Vec<wasip2::http::types::FutureIncomingResponse>,
    ends: &mut BTreeMap<String, usize>,
) {
    // Answers are kept until all are there.
    let answers: Vec<_> = futures.drain(..).map(|future| wait(&future)).collect();
    for answer in answers {
        let end = answer.map_or_else(|code| code, |response| format!("status {}", response.status()));
        *ends.entry(end).or_default() += 1;
    }
}

/// Ask with no patience at all.
#[tool]
fn impatient(authority: String, path: String) -> String {
    let options = RequestOptions::new();
    for set in [
        RequestOptions::set_connect_timeout,
        RequestOptions::set_first_byte_timeout,
        RequestOptions::set_between_bytes_timeout,
    ] {
        if set(&options, Some(0)).is_err() {
            return "not set".to_owned();
        }
    }
    let answer = request("GET", Scheme::Http, &authority, &path)
        .and_then(|request| begin(request, Some(options)))
        .and_then(|future| wait(&future));
    answer.map_or_else(|code| code, |response| format!("status {}", response.status()))
}

/// Begin a request and never look at it again.
#[tool]
fn forget(authority: String, path: String) -> &'static str {
    for _ in 0..3 {
        let future = request("GET", Scheme::Http, &authority, &path).and_then(|request| begin(request, None));
        std::mem::forget(future);
    }
    "forgotten"
}

/// Work as usual.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [pull, parallel, impatient, forget, ok] }
