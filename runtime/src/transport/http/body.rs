//! A request's body: bounded in size and in time, and never compressed.

use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

/// A client that sends its body slower than this is cut off.
const TIME: Duration = Duration::from_secs(30);

/// Reads a body of at most `most` bytes.
///
/// # Errors
/// With the status and the words to answer.
pub(super) async fn read(body: Body, most: usize) -> Result<Bytes, (StatusCode, String)> {
    let collecting = Limited::new(body, most).collect();
    match tokio::time::timeout(TIME, collecting).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => {
            let why = format!("the body is larger than {} KiB (limit `body_kib`)\n", most >> 10);
            Err((StatusCode::PAYLOAD_TOO_LARGE, why))
        }
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the body could not be read\n".to_owned())),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time\n".to_owned())),
    }
}
