//! Follows every redirect.

use plugport_sdk::http::Request;
use plugport_sdk::prelude::*;

/// Follow redirects without end; how many there were, and how it ended.
#[tool]
fn follow(url: String) -> String {
    let mut url = url;
    for hops in 0.. {
        match Request::get(&url).send() {
            Err(failure) => return format!("{hops} hops, then {url}: {failure}"),
            Ok(answer) => match answer.header("location") {
                None => return format!("{hops} hops, then {url}: status {}", answer.status),
                Some(next) => url = next.to_owned(),
            },
        }
    }
    String::new()
}

/// Work as usual.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [follow, ok] }
