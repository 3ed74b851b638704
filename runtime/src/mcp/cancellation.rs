//! Cancels a running request.
//!
//! The token is created only when some code stores it or waits for it. A stateless request over HTTP is cancelled by
//! dropping its response stream, so no code stores its token, and most such requests end before any code waits.

use std::sync::OnceLock;

use tokio_util::sync::CancellationToken;

/// The cancellation of one request.
#[derive(Debug, Default)]
pub(crate) struct Cancellation(OnceLock<CancellationToken>);

impl Cancellation {
    /// The token that cancels the request.
    pub(crate) fn token(&self) -> &CancellationToken {
        self.0.get_or_init(CancellationToken::new)
    }

    pub(crate) fn cancel(&self) {
        self.token().cancel();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.get().is_some_and(CancellationToken::is_cancelled)
    }

    /// Waits until the request is cancelled.
    pub(crate) async fn cancelled(&self) {
        self.token().cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn whoever_waits_learns_of_it_whenever_the_token_was_made() {
        let cancel = Cancellation::default();
        let mut waiting = Box::pin(cancel.cancelled());
        assert!(!cancel.is_cancelled() && cancel.0.get().is_none());
        assert!(waiting.as_mut().now_or_never().is_none());
        cancel.token().cancel();
        assert!(cancel.is_cancelled() && waiting.now_or_never().is_some());
        let cancel = Cancellation::default();
        cancel.cancel();
        assert!(cancel.is_cancelled() && cancel.cancelled().now_or_never().is_some());
    }
}
