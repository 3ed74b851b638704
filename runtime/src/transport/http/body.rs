//! A request's body: bounded in size and in time, and never compressed; and what becomes of one that nobody read.
//!
//! hyper closes a connection whose request was not read to its end, and says nothing of it in the answer. A client that
//! keeps connections for later would then send its next request into a closed one. So what is small is read and thrown
//! away, and of anything else the answer says that the connection ends.

use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

/// A client that sends its body slower than this is cut off.
const TIME: Duration = Duration::from_secs(30);

/// What is read of a body that nobody wants, bytes. Whoever sends more pays with the connection.
const UNWANTED: usize = 64 << 10;

/// How long an answer waits for that. A client that has begun to send such a body is done by then, or it is far away and
/// saves less by keeping its connection.
const UNWANTED_TIME: Duration = Duration::from_millis(500);

/// Why there is no body.
pub(super) struct NoBody {
    status: StatusCode,
    why: String,
    /// Whether the connection is of no more use.
    broken: bool,
}

impl IntoResponse for NoBody {
    fn into_response(self) -> Response {
        let response = (self.status, self.why).into_response();
        if self.broken { closing(response) } else { response }
    }
}

/// Reads a body of at most `most` bytes. One that is announced as larger is refused before any of it is read, so that a
/// client that waits for `100 Continue` never sends it.
///
/// # Errors
/// When it is too large, or does not come.
pub(super) async fn read(body: &mut Body, most: usize) -> Result<Bytes, NoBody> {
    let too_large = || NoBody {
        status: StatusCode::PAYLOAD_TOO_LARGE,
        why: format!("the body is larger than {} KiB (limit `body_kib`)\n", most >> 10),
        broken: false,
    };
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let broken = |status, why: &str| NoBody { status, why: why.to_owned(), broken: true };
    let collecting = Limited::new(body, most).collect();
    match tokio::time::timeout(TIME, collecting).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => Err(too_large()),
        Ok(Err(_)) => Err(broken(StatusCode::BAD_REQUEST, "the body could not be read\n")),
        Err(_) => Err(broken(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time\n")),
    }
}

/// Makes the connection ready for its next request, or else says in the answer that there will be none.
pub(super) async fn settle(response: Response, mut body: Body, headers: &HeaderMap) -> Response {
    if body.is_end_stream() {
        return response;
    }
    // Reading would ask a client to send what it asks whether it should.
    let asks_first = headers.contains_key(header::EXPECT);
    if !asks_first && drained(&mut body).await { response } else { closing(response) }
}

/// Reads a body to its end, if that is near.
async fn drained(body: &mut Body) -> bool {
    if body.size_hint().lower() > UNWANTED as u64 {
        return false;
    }
    let mut body = Limited::new(body, UNWANTED);
    let draining = async {
        while let Some(frame) = body.frame().await {
            if frame.is_err() {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(UNWANTED_TIME, draining).await.unwrap_or(false)
}

fn closing(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
