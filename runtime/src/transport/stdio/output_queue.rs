//! The messages that wait to be written to stdout.
//!
//! All waiting messages are written with one system call. They are not copied for that, because a large message is
//! [counted](crate::mcp::BufferBudget), and a copy would not be.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// Maximum number of waiting messages.
const MAX_MESSAGES: usize = 16;

const LINE_BREAK: Bytes = Bytes::from_static(b"\n");

/// The queue, and the output.
pub(super) struct OutputQueue<W> {
    output: W,
    /// The unwritten parts of each message and of the line break after it.
    parts: VecDeque<Bytes>,
    is_flushed: bool,
}

impl<W: AsyncWrite + Unpin> OutputQueue<W> {
    pub(super) fn new(output: W) -> Self {
        Self { output, parts: VecDeque::new(), is_flushed: true }
    }

    /// Whether another message may be pushed.
    pub(super) fn has_capacity(&self) -> bool {
        self.parts.len() < 2 * MAX_MESSAGES
    }

    /// Whether no message waits.
    pub(super) fn is_written(&self) -> bool {
        self.parts.is_empty() && self.is_flushed
    }

    pub(super) fn push(&mut self, message: Bytes) {
        self.parts.extend([message, LINE_BREAK]);
    }

    /// Writes all waiting messages. Cancel-safe: unwritten bytes stay in the queue.
    pub(super) async fn write(&mut self) -> io::Result<()> {
        while !self.parts.is_empty() {
            let slices: Vec<IoSlice<'_>> = self.parts.iter().map(|part| IoSlice::new(part)).collect();
            let written = self.output.write_vectored(&slices).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.is_flushed = false;
            self.remove(written);
        }
        self.output.flush().await?;
        self.is_flushed = true;
        Ok(())
    }

    /// Removes bytes that were written.
    fn remove(&mut self, mut written: usize) {
        while let Some(part) = self.parts.front_mut() {
            if written < part.len() {
                part.advance(written);
                return;
            }
            written -= part.len();
            self.parts.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use super::*;

    /// Writes at most `bytes` bytes with each call, and records what it wrote.
    struct RecordingWriter {
        bytes: usize,
        calls: Vec<String>,
    }

    impl AsyncWrite for RecordingWriter {
        fn poll_write(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.poll_write_vectored(context, &[IoSlice::new(bytes)])
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            slices: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let mut bytes = slices.iter().flat_map(|slice| slice.to_vec()).collect::<Vec<u8>>();
            bytes.truncate(self.bytes);
            self.calls.push(String::from_utf8(bytes.clone()).unwrap());
            Poll::Ready(Ok(bytes.len()))
        }

        fn is_write_vectored(&self) -> bool {
            true
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn what_waits_is_written_in_order_with_as_few_calls_as_possible() {
        for (bytes, calls) in [(100, &["one\ntwo\nthree\n"][..]), (5, &["one\nt", "wo\nth", "ree\n"][..])] {
            let mut queue = OutputQueue::new(RecordingWriter { bytes, calls: Vec::new() });
            for message in ["one", "two", "three"] {
                queue.push(Bytes::from_static(message.as_bytes()));
            }
            assert!(!queue.is_written());
            queue.write().await.unwrap();
            assert!(queue.is_written());
            assert_eq!(queue.output.calls, calls);
        }
    }

    #[tokio::test]
    async fn there_is_room_for_a_bounded_number_of_messages() {
        let mut queue = OutputQueue::new(tokio::io::sink());
        let pushed = std::iter::from_fn(|| queue.has_capacity().then(|| queue.push("{}".into()))).count();
        assert_eq!(pushed, MAX_MESSAGES);
        queue.write().await.unwrap();
        assert!(queue.has_capacity());
    }

    #[tokio::test]
    async fn an_output_that_takes_nothing_is_an_error() {
        let mut queue = OutputQueue::new(RecordingWriter { bytes: 0, calls: Vec::new() });
        queue.push("{}".into());
        assert_eq!(queue.write().await.unwrap_err().kind(), io::ErrorKind::WriteZero);
    }
}
