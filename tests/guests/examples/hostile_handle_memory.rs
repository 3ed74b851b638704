//! Fills the host's memory behind handles, each of which is small to the guest.

use plugport_sdk::prelude::*;
use plugport_test_guests::wasi::{clock, poll};
use wasip2::http::types::{Fields, OutgoingRequest};

mod keyvalue {
    wit_bindgen::generate!({ path: "../../wit", world: "keyvalue", generate_all });
    pub(crate) use wasi::keyvalue::{atomics, store};
}

/// Bytes of a text that is as long as one call may hand over.
const LONG: usize = 7 << 20;

/// Begin a thousand swaps of keys that are no keys.
#[tool]
fn keys() -> Result<String, Error> {
    let bucket = keyvalue::store::open("").map_err(|error| Error::Internal(format!("{error:?}")))?;
    let key = "k".repeat(LONG);
    let begun = (0..1_000).map_while(|_| keyvalue::atomics::Cas::new(&bucket, &key).ok());
    Ok(format!("{} kept", begun.collect::<Vec<_>>().len()))
}

/// Fill as many collections of header fields as there may be.
#[tool]
fn fields(copies: bool) -> String {
    let full = || {
        let fields = Fields::new();
        for at in 0..90 {
            let _ = fields.append(&format!("x-{at}"), &[b'v'; 90]);
        }
        fields
    };
    let first = full();
    let mut kept = Vec::new();
    for _ in 0..1_000 {
        let next = if copies { first.clone() } else { full() };
        // Only now the copy is one.
        let _ = next.append("x-more", b"v");
        kept.push(next);
    }
    format!("{} kept", kept.len())
}

/// Prepare requests with long paths that are never sent.
#[tool]
fn requests() -> String {
    let path = format!("/{}", "p".repeat(15 << 10));
    let mut kept = Vec::new();
    for _ in 0..1_000 {
        let request = OutgoingRequest::new(Fields::new());
        let _ = request.set_path_with_query(Some(&path));
        kept.push(request);
    }
    format!("{} kept", kept.len())
}

/// Write bodies of requests that are never sent, and hold nothing but the requests.
#[tool]
fn bodies() -> String {
    let (mut kept, mut pieces) = (Vec::new(), 0);
    for _ in 0..1_000 {
        let request = OutgoingRequest::new(Fields::new());
        if let Ok(body) = request.body()
            && let Ok(stream) = body.write()
        {
            while stream.check_write().is_ok_and(|room| room > 0) && stream.write(&[b'b'; 8 << 10]).is_ok() {
                pieces += 1;
            }
        }
        kept.push(request);
    }
    format!("{} kept with {pieces} pieces", kept.len())
}

/// Hand over fields that no collection has room for.
#[tool]
fn values() -> String {
    let values = vec![Vec::new(); 200_000];
    let set = Fields::new().set("x-none", &values);
    format!("{set:?}")
}

/// Wait for one clock as often as fits into a list.
#[tool]
fn crowd() -> String {
    let clock = clock::subscribe_duration(0);
    let crowd = vec![&clock; 200_000];
    format!("{} ready", poll::poll(&crowd).len())
}

/// Begin and drop what may be kept only so often at once.
#[tool]
fn modest() -> String {
    let mut sent = 0;
    for _ in 0..3_000 {
        let fields = Fields::new();
        let _ = fields.append("x-long", &[b'v'; 8 << 10]);
        let request = OutgoingRequest::new(fields);
        sent += usize::from(request.body().is_ok());
    }
    format!("{sent} in turn")
}

plugport_sdk::export! { tools: [keys, fields, requests, bodies, values, crowd, modest] }
