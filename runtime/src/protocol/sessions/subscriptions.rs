//! The resources that a client wants to hear of.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::super::buffers::{Held, Share};
use super::super::error::RpcError;

/// How many one client may name.
const MOST: usize = 1_000;

/// Bytes of all of them.
const MOST_BYTES: usize = 128 << 10;

/// Longest URI, bytes.
const LONGEST: usize = 2_048;

/// What one takes: its entry, and the text three times, since all may have to be told of at once.
fn weight(uri: &str) -> usize {
    3 * uri.len() + 256
}

/// A bounded set of URIs.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    uris: Mutex<HashMap<String, Held>>,
    share: Share,
}

impl Subscriptions {
    /// None yet. What it keeps is kept for whoever has this share.
    pub(crate) fn new(share: Share) -> Self {
        Self { uris: Mutex::default(), share }
    }

    /// Whether a URI is short enough to be kept.
    ///
    /// # Errors
    /// When it is not, or is empty.
    pub(crate) fn fits(uri: &str) -> Result<(), RpcError> {
        match uri.len() {
            1..=LONGEST => Ok(()),
            _ => Err(RpcError::invalid_params(&format!("a URI has 1 to {LONGEST} bytes"))),
        }
    }

    /// Adds a URI. Whether there is such a resource does not matter here: it may come to be, or come back.
    ///
    /// # Errors
    /// When it is too long, or there are too many.
    pub(crate) fn add(&self, uri: &str) -> Result<(), RpcError> {
        Self::fits(uri)?;
        let mut uris = self.lock();
        if uris.contains_key(uri) {
            return Ok(());
        }
        let bytes: usize = uris.keys().map(String::len).sum();
        if uris.len() >= MOST || bytes + uri.len() > MOST_BYTES {
            return Err(RpcError::invalid_params(&format!("at most {MOST} resources can be subscribed to")));
        }
        let held = self.share.hold(weight(uri)).ok_or_else(|| RpcError::no_room("another subscription"))?;
        uris.insert(uri.to_owned(), held);
        Ok(())
    }

    pub(crate) fn remove(&self, uri: &str) {
        self.lock().remove(uri);
    }

    pub(crate) fn contains(&self, uri: &str) -> bool {
        self.lock().contains_key(uri)
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Held>> {
        self.uris.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Caller;
    use crate::protocol::Buffers;

    #[test]
    fn a_client_may_name_many_resources_but_not_endlessly_many() {
        let buffers = Buffers::new(4 << 20);
        let uris = Subscriptions::new(buffers.share(&Caller::Stdio));
        for at in 0..MOST {
            uris.add(&format!("a:{at}")).unwrap();
        }
        assert!(uris.add("a:0").is_ok());
        assert_eq!(uris.add("a:more").unwrap_err().code, -32602);
        uris.remove("a:0");
        assert!(uris.add("a:more").is_ok() && !uris.contains("a:0"));
        let used = buffers.used();
        uris.remove("a:more");
        assert_eq!(buffers.used(), used - weight("a:more"));
        assert!(uris.add("").is_err() && uris.add(&"x".repeat(LONGEST + 1)).is_err());
    }
}
