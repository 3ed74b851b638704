//! Sends HTTP requests.

use std::io::{Read, Write};

use plugport_sdk::http::{Failure, Request, send_all};
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
    let answer = request.max_body(most.unwrap_or(16 << 20)).send()?;
    let (status, length, cut) = (answer.status, answer.body.len(), if answer.truncated { "+" } else { "" });
    let begin: String = String::from_utf8_lossy(&answer.body).chars().take(2_000).collect();
    Ok(format!("{status} {length}{cut}\n{begin}"))
}

/// Send requests at the same time; a line for each.
#[tool]
fn together(urls: Vec<String>) -> String {
    let outcomes = send_all(urls.into_iter().map(Request::get));
    let lines = outcomes.into_iter().map(|outcome| match outcome {
        Ok(answer) => answer.status.to_string(),
        Err(failure) => failure.to_string(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Write a body in pieces, and show the beginning of the answer as it comes.
#[tool]
fn upload(url: String, pieces: Vec<String>, length: Option<u64>) -> Result<String, Error> {
    let failed = |error: std::io::Error| Error::Internal(error.to_string());
    let mut upload = Request::new("POST", url).upload(length)?;
    for piece in pieces {
        upload.write_all(piece.as_bytes()).map_err(failed)?;
    }
    let mut stream = upload.finish().stream()?;
    let mut begin = [0; 5];
    stream.read_exact(&mut begin).map_err(failed)?;
    Ok(format!("{} {}", stream.status, String::from_utf8_lossy(&begin)))
}

/// The line of the configuration that would allow a request.
#[tool]
fn missing_line(url: String) -> String {
    match Request::get(url).send() {
        Err(Failure::Denied(denial)) => format!("{} needs {}", denial.request, denial.grant),
        outcome => format!("{outcome:?}"),
    }
}

plugport_sdk::export! { tools: [fetch, together, upload, missing_line] }
