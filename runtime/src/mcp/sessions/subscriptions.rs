//! The resources whose updates a client subscribed to.

use std::collections::HashSet;

use parking_lot::Mutex;

use super::super::buffer_budget::{BufferReservation, BufferShare};
use super::super::error::RpcError;

/// Maximum number of URIs of one client.
const MAX_URIS: usize = 1_000;

/// Maximum number of bytes of all URIs of one client.
const MAX_BYTES: usize = 128 << 10;

/// Maximum length of a URI, in bytes.
const URI_BYTES: usize = 2_048;

/// The memory of `count` URIs of `bytes` bytes in total: their entries, and three copies of the text, because updates
/// of all of them may be due at once.
fn buffer_bytes(bytes: usize, count: usize) -> usize {
    3 * bytes + 256 * count
}

/// A bounded set of URIs.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    subscribed: Mutex<SubscribedUris>,
    share: BufferShare,
}

#[derive(Debug, Default)]
struct SubscribedUris {
    uris: HashSet<String>,
    /// The length of all URIs together, in bytes.
    bytes: usize,
    /// Reserves [`buffer_bytes`].
    reservation: Option<BufferReservation>,
}

impl Subscriptions {
    /// Makes an empty set, whose memory is reserved from `share`.
    pub(crate) fn new(share: BufferShare) -> Self {
        Self { subscribed: Mutex::default(), share }
    }

    /// Checks the length of a URI.
    ///
    /// # Errors
    /// When the URI is empty or too long.
    pub(crate) fn fits(uri: &str) -> Result<(), RpcError> {
        match uri.len() {
            1..=URI_BYTES => Ok(()),
            _ => Err(RpcError::invalid_params(&format!("a URI has 1 to {URI_BYTES} bytes"))),
        }
    }

    /// Adds a URI. The resource need not exist: it may be published later.
    ///
    /// # Errors
    /// When the URI is too long, or there are too many URIs.
    pub(crate) fn add(&self, uri: &str) -> Result<(), RpcError> {
        self.add_all(vec![uri.to_owned()])
    }

    /// Adds all of these URIs, or none of them on an error.
    ///
    /// # Errors
    /// When a URI is too long, or there are too many.
    pub(crate) fn add_all(&self, mut uris: Vec<String>) -> Result<(), RpcError> {
        uris.iter().try_for_each(|uri| Self::fits(uri))?;
        let mut subscribed = self.subscribed.lock();
        let subscribed = &mut *subscribed;
        uris.retain(|uri| !subscribed.uris.contains(uri));
        let new: HashSet<String> = uris.into_iter().collect();
        if new.is_empty() {
            return Ok(());
        }
        let count = subscribed.uris.len() + new.len();
        let bytes = subscribed.bytes + new.iter().map(String::len).sum::<usize>();
        if count > MAX_URIS || bytes > MAX_BYTES {
            let why =
                format!("at most {MAX_URIS} resources, of {} KiB, can be subscribed to", MAX_BYTES >> 10);
            return Err(RpcError::invalid_params(&why));
        }
        let more = buffer_bytes(bytes - subscribed.bytes, new.len());
        let reservation = self
            .share
            .reserve_long_lived(more)
            .ok_or_else(|| RpcError::overloaded("another subscription"))?;
        match &mut subscribed.reservation {
            Some(all) => all.merge(reservation),
            None => subscribed.reservation = Some(reservation),
        }
        subscribed.uris.extend(new);
        subscribed.bytes = bytes;
        Ok(())
    }

    pub(crate) fn remove(&self, uri: &str) {
        let mut subscribed = self.subscribed.lock();
        let subscribed = &mut *subscribed;
        if subscribed.uris.remove(uri) {
            subscribed.bytes -= uri.len();
            let bytes = buffer_bytes(subscribed.bytes, subscribed.uris.len());
            if let Some(reservation) = &mut subscribed.reservation {
                reservation.shrink_to(bytes);
            }
        }
    }

    pub(crate) fn contains(&self, uri: &str) -> bool {
        self.subscribed.lock().uris.contains(uri)
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.subscribed.lock().uris.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_env::Caller;
    use crate::mcp::BufferBudget;

    #[test]
    fn a_client_may_name_many_resources_but_not_endlessly_many() {
        let buffers = BufferBudget::new(4 << 20);
        let uris = Subscriptions::new(buffers.share(&Caller::Stdio));
        for at in 0..MAX_URIS {
            uris.add(&format!("a:{at}")).unwrap();
        }
        assert!(uris.add("a:0").is_ok());
        assert_eq!(uris.add("a:more").unwrap_err().code, -32602);
        uris.remove("a:0");
        assert!(uris.add("a:more").is_ok() && !uris.contains("a:0"));
        let used = buffers.used();
        uris.remove("a:more");
        assert_eq!(buffers.used(), used - buffer_bytes("a:more".len(), 1));
        let several = |uris: &[&str]| -> Vec<String> { uris.iter().map(|uri| (*uri).to_owned()).collect() };
        assert!(uris.add_all(several(&["b:1", "b:2"])).is_err() && !uris.contains("b:1"), "all or none");
        assert!(uris.add_all(several(&["b:1", "b:1", "a:1"])).is_ok() && uris.contains("b:1"));
        assert!(uris.add("").is_err() && uris.add(&"x".repeat(URI_BYTES + 1)).is_err());
    }
}
