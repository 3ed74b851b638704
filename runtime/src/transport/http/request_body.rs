//! Reads request bodies: bounded in size and in time, counted against the buffers of all clients, never compressed.
//! Also drains bodies that no handler has read.
//!
//! Buffer space is reserved as bytes arrive: a client that announces a long body and sends nothing reserves nothing.
//! The announced length is used only to reject a body that is too long, and to bound how far the reservation may run
//! ahead of the received bytes.
//!
//! hyper closes a connection whose request was not read to its end, and does not announce that in the response. A
//! client that reuses connections would then send its next request on a closed connection. So the rest of a small body
//! is read and discarded; for a large one the response says `Connection: close`.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Either, Limited};
use hyper::body::Incoming;

use super::response_body::HttpResponse;
use crate::mcp::{BufferReservation, BufferShare, UNCOUNTED_BYTES, buffer_cost};

/// How long a client may take to send its body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// How many bytes of an unread body are read and discarded. If there are more, the connection is closed.
const DRAIN_BYTES: usize = 64 << 10;

/// How long a response waits for that. A client that is sending such a body has finished by then, or is so far away
/// that keeping the connection saves it little.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a large body waits for buffer space, for all its chunks together.
const MAX_WAIT: Duration = if cfg!(test) { Duration::from_millis(50) } else { Duration::from_secs(5) };

/// The body of a request: hyper's, which needs no box, or, for a request without a connection, axum's.
pub(super) type RequestBody = Either<Incoming, Body>;

/// A body that was read, with the buffer space that is reserved for it if it is large.
#[derive(Debug)]
pub(super) struct CountedBody {
    pub(super) bytes: Bytes,
    pub(super) reservation: Option<BufferReservation>,
}

/// Why a body was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BodyError {
    #[error("the body is larger than {0} KiB (limit `message_kib`)")]
    TooLarge(usize),
    #[error("the body could not be read")]
    Broken,
    #[error("the body did not arrive in time")]
    Late,
    #[error(
        "the server has no room for this body now (setting [server] `client_buffers_mib`); try again later"
    )]
    Overloaded,
}

impl IntoResponse for BodyError {
    fn into_response(self) -> Response {
        let text = format!("{self}\n");
        match self {
            Self::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, text).into_response(),
            // The connection cannot be used any more.
            Self::Broken => closing((StatusCode::BAD_REQUEST, text).into_response()),
            Self::Late => closing((StatusCode::REQUEST_TIMEOUT, text).into_response()),
            Self::Overloaded => {
                (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], text).into_response()
            }
        }
    }
}

/// Reads a body of at most `max` bytes, which counts against `share`.
///
/// # Errors
/// When the body is too large or too slow, or there is no buffer space for it.
pub(super) async fn read(
    body: &mut (impl http_body::Body<Data = Bytes> + Unpin),
    max: usize,
    share: impl Fn() -> BufferShare,
) -> Result<CountedBody, BodyError> {
    let announced = body.size_hint();
    if announced.lower() > max as u64 {
        return Err(BodyError::TooLarge(max >> 10));
    }
    let whole = announced.upper().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(max);
    let mut reservation =
        BodyReservation { share, reserved: None, bytes: UNCOUNTED_BYTES, whole, max, max_wait: MAX_WAIT };
    tokio::time::timeout(READ_TIMEOUT, collect(body, &mut reservation))
        .await
        .unwrap_or(Err(BodyError::Late))
        .map(|bytes| CountedBody { bytes, reservation: reservation.reserved })
}

async fn collect<S: Fn() -> BufferShare>(
    body: &mut (impl http_body::Body<Data = Bytes> + Unpin),
    reservation: &mut BodyReservation<S>,
) -> Result<Bytes, BodyError> {
    // Most bodies are one chunk, which needs no copy.
    let first = next(body).await?.unwrap_or_default();
    reservation.reserve(first.len()).await?;
    let Some(second) = next(body).await? else { return Ok(first) };
    let mut all = BytesMut::from(first);
    let mut more = Some(second);
    while let Some(piece) = more {
        reservation.reserve(all.len() + piece.len()).await?;
        all.extend_from_slice(&piece);
        more = next(body).await?;
    }
    Ok(all.freeze())
}

async fn next(body: &mut (impl http_body::Body<Data = Bytes> + Unpin)) -> Result<Option<Bytes>, BodyError> {
    loop {
        let Some(frame) = body.frame().await else { return Ok(None) };
        // Trailers are ignored.
        if let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() {
            return Ok(Some(data));
        }
    }
}

/// The buffer space that is reserved for a body.
struct BodyReservation<S> {
    share: S,
    reserved: Option<BufferReservation>,
    /// How many bytes of the body are reserved already.
    bytes: usize,
    /// The announced length of the body, or `max` if it is unknown.
    whole: usize,
    max: usize,
    /// How long the body may still wait for space.
    max_wait: Duration,
}

impl<S: Fn() -> BufferShare> BodyReservation<S> {
    /// Reserves space for `bytes` in total, at least doubling the reservation, but no more than the whole body.
    async fn reserve(&mut self, bytes: usize) -> Result<(), BodyError> {
        if bytes > self.max {
            return Err(BodyError::TooLarge(self.max >> 10));
        }
        if bytes <= self.bytes {
            return Ok(());
        }
        let ahead = if self.reserved.is_some() { (2 * self.bytes).min(self.whole).min(self.max) } else { 0 };
        let grown = bytes.max(ahead);
        let before = if self.reserved.is_some() { self.bytes } else { 0 };
        let begun = Instant::now();
        let more = (self.share)()
            .reserve_timeout(buffer_cost(grown - before), self.max_wait)
            .await
            .ok_or(BodyError::Overloaded)?;
        self.max_wait = self.max_wait.saturating_sub(begun.elapsed());
        match &mut self.reserved {
            Some(reserved) => reserved.merge(more),
            None => self.reserved = Some(more),
        }
        self.bytes = grown;
        Ok(())
    }
}

/// Reads the rest of a small body; otherwise the response announces that the connection is closed.
pub(super) async fn drain_or_close(
    response: HttpResponse,
    mut body: RequestBody,
    headers: &HeaderMap,
) -> HttpResponse {
    if body.is_end_stream() {
        return response;
    }
    // The client sends the body only after 100 (Continue), and reading would make hyper send that.
    let expects_continue = headers.contains_key(header::EXPECT);
    if !expects_continue && drained(&mut body).await { response } else { closing(response) }
}

/// Reads a body to its end. Returns `false` if it has too many bytes or takes too long.
async fn drained(body: &mut RequestBody) -> bool {
    if body.size_hint().lower() > DRAIN_BYTES as u64 {
        return false;
    }
    let mut body = Limited::new(body, DRAIN_BYTES);
    let draining = async {
        while let Some(frame) = body.frame().await {
            if frame.is_err() {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(DRAIN_TIMEOUT, draining).await.unwrap_or(false)
}

fn closing<B>(mut response: Response<B>) -> Response<B> {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::{BufferBudget, Caller};
    use futures_util::{FutureExt as _, stream};
    use http_body::{Frame, SizeHint};
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    const MOST: usize = 1 << 20;

    fn pieces(count: usize) -> Body {
        let piece = |_| Ok::<_, Infallible>(Bytes::from(vec![b'x'; 10 << 10]));
        Body::from_stream(stream::iter((0..count).map(piece)))
    }

    #[tokio::test]
    async fn a_body_is_bounded_whether_it_says_how_long_it_is_or_not() {
        let share = || BufferBudget::new(8 * MOST).share(&Caller::Unknown);
        let rejected = async |mut body: Body| read(&mut body, MOST, share).await.unwrap_err();
        assert_eq!(rejected(Body::from(vec![0; MOST + 1])).await, BodyError::TooLarge(1_024));
        assert_eq!(rejected(pieces(103)).await, BodyError::TooLarge(1_024));
        let taken = read(&mut pieces(102), MOST, share).await.unwrap();
        assert!(taken.bytes.len() == 102 * (10 << 10) && taken.reservation.is_some());
        let small = read(&mut pieces(1), MOST, share).await.unwrap();
        assert!(small.bytes.len() == 10 << 10 && small.reservation.is_none());
        assert!(read(&mut Body::empty(), MOST, share).await.unwrap().bytes.is_empty());
    }

    /// A body that announces the maximum length and sends only its first chunk.
    struct StalledBody(Option<Bytes>);

    impl http_body::Body for StalledBody {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            self.0.take().map_or(Poll::Pending, |piece| Poll::Ready(Some(Ok(Frame::data(piece)))))
        }

        fn size_hint(&self) -> SizeHint {
            SizeHint::with_exact(MOST as u64)
        }
    }

    #[tokio::test]
    async fn a_body_that_was_announced_and_does_not_come_takes_no_room() {
        let buffers = BufferBudget::new(8 * MOST);
        let share = || buffers.share(&Caller::Unknown);
        for came in [0, 2 * UNCOUNTED_BYTES] {
            let mut body = Body::new(StalledBody((came > 0).then(|| vec![0; came].into())));
            let mut reading = std::pin::pin!(read(&mut body, MOST, share));
            assert!(reading.as_mut().now_or_never().is_none());
            assert_eq!(buffers.used(), buffer_cost(came));
        }
    }

    #[tokio::test]
    async fn a_large_body_waits_for_room_and_a_small_one_needs_none() {
        let buffers = BufferBudget::new(4 * MOST);
        let share = || buffers.share(&Caller::Unknown);
        let first = read(&mut Body::from(vec![0; MOST]), MOST, share).await.unwrap();
        assert_eq!(
            read(&mut Body::from(vec![0; MOST]), MOST, share).await.unwrap_err(),
            BodyError::Overloaded
        );
        assert!(read(&mut Body::from(vec![0; UNCOUNTED_BYTES]), MOST, share).await.is_ok());
        let waiting = async { read(&mut Body::from(vec![0; MOST]), MOST, share).await.is_ok() };
        let leaving = async {
            tokio::time::sleep(MAX_WAIT / 2).await;
            drop(first);
        };
        assert!(tokio::join!(waiting, leaving).0);
    }

    #[tokio::test]
    async fn all_pieces_of_a_body_wait_no_longer_than_one_may() {
        let buffers = BufferBudget::new(4 * buffer_cost(UNCOUNTED_BYTES));
        let share = || buffers.share(&Caller::Unknown);
        let mut reservation = BodyReservation {
            share,
            reserved: None,
            bytes: UNCOUNTED_BYTES,
            whole: MOST,
            max: MOST,
            max_wait: MAX_WAIT,
        };
        let full: Vec<BufferReservation> = std::iter::from_fn(|| share().reserve(1 << 10)).collect();
        let leaving = async {
            tokio::time::sleep(MAX_WAIT / 2).await;
            drop(full);
        };
        assert!(tokio::join!(reservation.reserve(2 * UNCOUNTED_BYTES), leaving).0.is_ok());
        assert!(reservation.max_wait <= MAX_WAIT / 2, "{:?}", reservation.max_wait);
    }
}
