//! The body of a response: one JSON object, or any other body.
//!
//! Most responses are one JSON object, whose body needs no box. An object in two chunks becomes two frames. hyper
//! writes both with the header in one system call, so the chunk that many responses share goes from the catalog to the
//! socket without a copy. The length is known, so the response has a `content-length` as if it were one chunk.

use std::array;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use http_body_util::Either;

use crate::mcp::ResponseLine;

/// The body of every response.
pub(super) type ResponseBody = Either<JsonBody, Body>;

pub(super) type HttpResponse = Response<ResponseBody>;

/// Makes a response with a boxed body.
pub(super) fn boxed(response: impl IntoResponse) -> HttpResponse {
    response.into_response().map(Either::Right)
}

/// One JSON object, in one chunk or two.
#[derive(Debug)]
pub struct JsonBody(array::IntoIter<Bytes, 2>);

impl JsonBody {
    /// Makes the body with this response.
    pub(super) fn new(line: ResponseLine) -> Self {
        let mut chunks = line.into_chunks().into_iter();
        if chunks.as_slice().last().is_some_and(Bytes::is_empty) {
            chunks.next_back();
        }
        Self(chunks)
    }
}

impl http_body::Body for JsonBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_slice().is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_slice().iter().map(|chunk| chunk.len() as u64).sum())
    }
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn the_chunks_are_frames_of_a_body_whose_length_is_known() {
        let [start, end] = [&b"start"[..], b" and end"].map(Bytes::from_static);
        let mut body = JsonBody([start.clone(), end.clone()].into_iter());
        for (left, chunk) in [(13, &start), (8, &end)] {
            assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(left), false));
            let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert_eq!(frame.as_ptr(), chunk.as_ptr());
        }
        assert!(body.is_end_stream() && body.frame().await.is_none());
        let one = JsonBody::new(start.clone().into());
        assert_eq!(one.0.as_slice().len(), 1);
        assert_eq!(one.collect().await.unwrap().to_bytes(), start);
    }
}
