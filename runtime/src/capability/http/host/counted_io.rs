//! Counts the bytes that a connection receives before the head of the response is complete.
//!
//! hyper bounds the head itself. But a server may send any number of interim responses (`100 Continue`) before it;
//! hyper skips these, and no budget counts them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::capability::http::egress::ByteStream;

/// The server sent more bytes than allowed before the head of the response was complete.
#[derive(Debug, thiserror::Error)]
#[error("too many bytes came before the head of the response")]
pub(super) struct HeadTooLarge;

/// How many more bytes may come before the head is complete. The connection and the task that waits for the head share
/// it.
#[derive(Debug, Clone)]
pub(super) struct HeadLimit(Arc<AtomicUsize>);

impl HeadLimit {
    pub(super) fn new(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes)))
    }

    /// Called when the head is complete. From then on the body counts its own bytes.
    pub(super) fn stop_counting(&self) {
        self.0.store(usize::MAX, Ordering::Relaxed);
    }

    /// Returns `false` if more bytes came than are left. Only one task at a time reads, so a load and a store suffice.
    fn spend(&self, bytes: usize) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        if left != usize::MAX {
            self.0.store(left.saturating_sub(bytes), Ordering::Relaxed);
        }
        bytes <= left
    }
}

/// A connection that fails when more bytes than allowed come before the head of the response is complete.
pub(super) struct CountedIo {
    pub(super) wire: Box<dyn ByteStream>,
    pub(super) head_limit: HeadLimit,
}

impl AsyncRead for CountedIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.wire).poll_read(context, buffer))?;
        let fits = self.head_limit.spend(buffer.filled().len().saturating_sub(before));
        Poll::Ready(if fits { Ok(()) } else { Err(io::Error::other(HeadTooLarge)) })
    }
}

impl AsyncWrite for CountedIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn what_comes_before_the_response_is_bounded_and_the_body_is_not() {
        let (mut far, near) = tokio::io::duplex(100);
        let head_limit = HeadLimit::new(10);
        let mut wire = CountedIo { wire: Box::new(near), head_limit: head_limit.clone() };
        let mut buffer = [0; 100];
        far.write_all(&[1; 10]).await.unwrap();
        assert_eq!(wire.read(&mut buffer).await.unwrap(), 10);
        far.write_all(&[1; 1]).await.unwrap();
        assert!(wire.read(&mut buffer).await.unwrap_err().get_ref().unwrap().is::<HeadTooLarge>());
        head_limit.stop_counting();
        for _ in 0..3 {
            far.write_all(&[1; 50]).await.unwrap();
            assert_eq!(wire.read(&mut buffer).await.unwrap(), 50);
        }
    }
}
