//! Reads a page of the web.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, IncomingBody, OutgoingRequest, Scheme};
use wasip2::io::streams::StreamError;

wit_bindgen::generate!({ world: "fetch", path: "wit" });

struct Fetch;

impl Guest for Fetch {
    fn fetch(url: String) -> Result<String, String> {
        let request = request(&url).ok_or_else(|| format!("{url} is not a URL"))?;
        let pending = handle(request, None).map_err(|error| error.to_string())?;
        pending.subscribe().block();
        let answer = pending.get().ok_or("no answer")?.map_err(|()| "no answer")?;
        let answer = answer.map_err(|error| error.to_string())?;
        let status = answer.status();
        if status != 200 {
            return Err(format!("{url} answered with status {status}"));
        }
        read(&answer.consume().map_err(|()| "no body")?)
    }
}

fn request(url: &str) -> Option<OutgoingRequest> {
    let (scheme, rest) = url.split_once("://")?;
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let scheme = if scheme == "https" { Scheme::Https } else { Scheme::Http };
    let request = OutgoingRequest::new(Fields::new());
    request.set_scheme(Some(&scheme)).ok()?;
    request.set_authority(Some(authority)).ok()?;
    request.set_path_with_query(Some(path)).ok()?;
    Some(request)
}

fn read(body: &IncomingBody) -> Result<String, String> {
    let stream = body.stream().map_err(|()| "no body")?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(64 << 10) {
            Ok(more) => bytes.extend(more),
            Err(StreamError::Closed) => break,
            Err(error) => return Err(error.to_string()),
        }
    }
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

export!(Fetch);
