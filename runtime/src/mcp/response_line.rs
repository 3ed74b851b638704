//! A response on one line, in one chunk or two.
//!
//! Many responses may have the same result, such as a page of a list. Then a response's own chunk is only its beginning
//! with its id, and the responses share the rest, which is never copied. A transport writes both chunks, one after the
//! other, or asks for a single chunk. Small responses always have one chunk, because copying them costs less than a
//! second chunk.

use std::sync::Arc;

use bytes::Bytes;

use super::buffer_budget::{BufferBudget, BufferReservation};
use crate::call_env::Caller;

/// A response on one line.
#[derive(Debug)]
pub struct ResponseLine(Chunks);

#[derive(Debug)]
enum Chunks {
    Own(Bytes),
    /// Boxed, because few responses have two chunks.
    SharedEnd(Box<SharedEndChunks>),
}

/// A chunk of the response's own, and one that other responses share.
#[derive(Debug)]
struct SharedEndChunks {
    start: Bytes,
    shared_end: Bytes,
    /// Counts the bytes of `shared_end`, or of the copy that replaces it.
    reservation: Option<BufferReservation>,
}

impl ResponseLine {
    /// Makes a response that ends with shared bytes.
    pub(super) fn with_shared_end(start: Bytes, shared_end: Bytes) -> Self {
        Self(Chunks::SharedEnd(Box::new(SharedEndChunks { start, shared_end, reservation: None })))
    }

    /// Returns the response, counted as long as any part of it exists; `None` when the budget has too few bytes left.
    /// Shared bytes are counted for each client, because a client that does not read can keep them in memory after
    /// their snapshot is gone.
    pub(super) fn counted(self, buffers: &Arc<BufferBudget>, caller: &Caller) -> Option<Self> {
        let chunks = match self.0 {
            Chunks::Own(line) => Chunks::Own(buffers.counted(caller, line)?),
            Chunks::SharedEnd(mut line) => {
                line.reservation = Some(buffers.share(caller).reserve(line.shared_end.len())?);
                Chunks::SharedEnd(line)
            }
        };
        Some(Self(chunks))
    }

    /// The chunks in order. The second may be empty.
    #[must_use]
    pub fn into_chunks(self) -> [Bytes; 2] {
        match self.0 {
            Chunks::Own(line) => [line, Bytes::new()],
            Chunks::SharedEnd(line) => {
                let SharedEndChunks { start, shared_end, reservation } = *line;
                [start, with_reservation(shared_end, reservation)]
            }
        }
    }

    /// Returns the response as one chunk. A shared end is copied; the copy does not keep the shared bytes alive.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        match self.0 {
            Chunks::Own(line) => line,
            Chunks::SharedEnd(line) => {
                let SharedEndChunks { start, shared_end, reservation } = *line;
                with_reservation([&*start, &*shared_end].concat().into(), reservation)
            }
        }
    }
}

impl From<Bytes> for ResponseLine {
    fn from(line: Bytes) -> Self {
        Self(Chunks::Own(line))
    }
}

fn with_reservation(bytes: Bytes, reservation: Option<BufferReservation>) -> Bytes {
    match reservation {
        Some(reservation) => reservation.hold(bytes),
        None => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::super::buffer_budget::UNCOUNTED_BYTES;
    use super::*;

    #[test]
    fn a_shared_end_is_counted_for_each_response_until_all_of_it_is_gone() {
        let end = Bytes::from(vec![b'x'; 4 * UNCOUNTED_BYTES]);
        let buffers = BufferBudget::new(16 * end.len());
        let response = || {
            let line = ResponseLine::with_shared_end(Bytes::from_static(b"start "), end.clone());
            line.counted(&buffers, &Caller::Stdio).unwrap()
        };
        let [start, shared] = response().into_chunks();
        assert_eq!((&*start, shared.as_ptr()), (&b"start "[..], end.as_ptr()));
        let line = response().into_bytes();
        assert_eq!((buffers.used(), line.len()), (2 * end.len(), 6 + end.len()));
        assert!(line.starts_with(b"start x") && line.ends_with(b"x"));
        drop((start, shared));
        assert!(end.is_unique(), "a copy keeps no page of a snapshot that is gone");
        let part = line.slice(..6);
        drop(line);
        assert_eq!(buffers.used(), end.len());
        drop(part);
        assert_eq!(buffers.used(), 0);
        let whole = ResponseLine::from(end.clone()).counted(&buffers, &Caller::Stdio).unwrap();
        assert_eq!((buffers.used(), whole.into_bytes().as_ptr()), (end.len(), end.as_ptr()));
        let large = Bytes::from(vec![b'x'; 9 * end.len()]);
        let large = ResponseLine::with_shared_end(Bytes::from_static(b"start "), large);
        assert!(large.counted(&buffers, &Caller::Stdio).is_none());
    }
}
