//! Writes nothing to a body, without end (GHSA-f8mm-ggr3-89wh, GHSA-5m8g-xhq4-4h93).

use plugport_sdk::prelude::*;
use plugport_test_guests::http::{begin, request, wait};
use wasip2::http::types::{OutgoingBody, Scheme};

/// Write nothing until the host has enough.
#[tool]
fn nothing(authority: String, waits: bool) -> String {
    let sending = request("POST", Scheme::Http, &authority, "/silent").expect("the parts are plain");
    let body = sending.body().expect("it was not taken");
    let stream = body.write().expect("it was not taken");
    let future = begin(sending, None);
    let mut writes = 0_u64;
    loop {
        let wrote = if waits {
            stream.blocking_write_and_flush(&[])
        } else {
            stream.check_write().and_then(|room| if room > 0 { stream.write(&[]) } else { Ok(()) })
        };
        if let Err(error) = wrote {
            let ended = future.and_then(|future| wait(&future));
            let ended = ended.map_or_else(|code| code, |response| format!("status {}", response.status()));
            return format!("{writes} writes, {error:?}, {ended}");
        }
        writes += 1;
    }
}

/// Send a body of so many bytes; how it ended.
#[tool]
fn flood(authority: String, bytes: usize) -> String {
    let sending = request("POST", Scheme::Http, &authority, "/silent").expect("the parts are plain");
    let body = sending.body().expect("it was not taken");
    let stream = body.write().expect("it was not taken");
    let future = begin(sending, None);
    let mut sent = 0;
    while sent < bytes {
        if stream.blocking_write_and_flush(&[b'x'; 4_096]).is_err() {
            break;
        }
        sent += 4_096;
    }
    drop(stream);
    let _ = OutgoingBody::finish(body, None);
    let ended = future.and_then(|future| wait(&future));
    ended.map_or_else(|code| code, |response| format!("status {}", response.status()))
}

/// Work as usual.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [nothing, flood, ok] }
