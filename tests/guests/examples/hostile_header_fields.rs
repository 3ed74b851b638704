//! Creates HTTP header fields without end, and holds every text that the host stores for them (CVE-2026-27204).

use plugport_sdk::prelude::*;
use wasip2::http::types::{Fields, Method, OutgoingRequest};

/// Append fields until it ends.
#[tool]
fn append() -> String {
    let fields = Fields::new();
    for number in 0..1_000_000 {
        if let Err(error) = fields.append(&format!("x-{number}"), b"value") {
            return format!("refused after {number}: {error:?}");
        }
    }
    "all taken".to_owned()
}

/// Hand over a great many at once.
#[tool]
fn list() -> String {
    let fields: Vec<_> = (0..40_000).map(|number| (format!("x-{number}"), b"v".to_vec())).collect();
    Fields::from_list(&fields).map_or_else(|error| format!("{error:?}"), |_| "taken".to_owned())
}

/// Fill as many collections as there may be, each as far as it goes.
#[tool]
fn many() -> String {
    let mut kept = Vec::new();
    for _ in 0..100_000 {
        let fields = Fields::new();
        for number in 0..60 {
            let _ = fields.append(&format!("x-{number}"), &[b'v'; 60]);
        }
        kept.push(fields);
    }
    format!("{} kept", kept.len())
}

/// Keep long texts in requests.
#[tool]
fn texts() -> String {
    let long = "M".repeat(4 << 20);
    let mut taken = 0;
    let mut kept = Vec::new();
    for _ in 0..200 {
        let request = OutgoingRequest::new(Fields::new());
        taken += usize::from(request.set_method(&Method::Other(long.clone())).is_ok());
        taken += usize::from(request.set_authority(Some(&long)).is_ok());
        taken += usize::from(request.set_path_with_query(Some(&format!("/{long}"))).is_ok());
        kept.push(request);
    }
    format!("{taken} taken of {}", kept.len())
}

/// Send requests that are none, one after the other.
#[tool]
fn wrong() -> String {
    let mut refused = 0;
    for _ in 0..20_000 {
        let request = OutgoingRequest::new(Fields::new());
        let _ = request.set_authority(Some("a.test"));
        refused += usize::from(wasip2::http::outgoing_handler::handle(request, None).is_err());
    }
    format!("{refused} refused")
}

/// Work as usual.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [append, list, many, texts, wrong, ok] }
