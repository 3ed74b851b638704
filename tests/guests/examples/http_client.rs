//! Sends HTTP requests.

use plugport_sdk::http::{Failure, Request};
use plugport_sdk::prelude::*;

/// Send a request and show the answer: its status, the length of its body, and how that begins.
#[tool]
fn fetch(
    url: String,
    method: Option<String>,
    body: Option<String>,
    most: Option<usize>,
) -> Result<String, Failure> {
    let method = method.unwrap_or_else(|| "GET".to_owned());
    let request = Request::new(method, url).header("accept", "*/*").body(body.unwrap_or_default());
    let answer = request.most(most.unwrap_or(16 << 20)).send()?;
    let (status, length, cut) = (answer.status, answer.body.len(), if answer.cut { "+" } else { "" });
    let begin: String = String::from_utf8_lossy(&answer.body).chars().take(2_000).collect();
    Ok(format!("{status} {length}{cut}\n{begin}"))
}

plugport_sdk::export! { tools: [fetch] }
