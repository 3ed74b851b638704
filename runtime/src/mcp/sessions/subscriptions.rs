//! The resources that a client wants to hear of.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::super::buffer_budget::{BufferReservation, BufferShare};
use super::super::error::RpcError;

/// How many one client may name.
const MOST: usize = 1_000;

/// Bytes of all of them.
const MOST_BYTES: usize = 128 << 10;

/// Longest URI, bytes.
const LONGEST: usize = 2_048;

/// What `count` of them with so many bytes take: their entries, and the texts three times, since all may have to be
/// told of at once.
fn weight(bytes: usize, count: usize) -> usize {
    3 * bytes + 256 * count
}

/// A bounded set of URIs.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    kept: Mutex<SubscribedUris>,
    share: BufferShare,
}

#[derive(Debug, Default)]
struct SubscribedUris {
    uris: HashSet<String>,
    /// Of all of them together.
    bytes: usize,
    /// What they [take](weight).
    reservation: Option<BufferReservation>,
}

impl Subscriptions {
    /// None yet. What is kept is counted in `share`.
    pub(crate) fn new(share: BufferShare) -> Self {
        Self { kept: Mutex::default(), share }
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
        self.add_all(vec![uri.to_owned()])
    }

    /// Adds several URIs or none, with room for all of them at once.
    ///
    /// # Errors
    /// When one is too long, or there are too many.
    pub(crate) fn add_all(&self, mut uris: Vec<String>) -> Result<(), RpcError> {
        uris.iter().try_for_each(|uri| Self::fits(uri))?;
        let mut kept = self.lock();
        let kept = &mut *kept;
        uris.retain(|uri| !kept.uris.contains(uri));
        let new: HashSet<String> = uris.into_iter().collect();
        if new.is_empty() {
            return Ok(());
        }
        let count = kept.uris.len() + new.len();
        let bytes = kept.bytes + new.iter().map(String::len).sum::<usize>();
        if count > MOST || bytes > MOST_BYTES {
            let why = format!("at most {MOST} resources, of {} KiB, can be subscribed to", MOST_BYTES >> 10);
            return Err(RpcError::invalid_params(&why));
        }
        let more = weight(bytes - kept.bytes, new.len());
        let reservation =
            self.share.reserve_long_lived(more).ok_or_else(|| RpcError::no_room("another subscription"))?;
        match &mut kept.reservation {
            Some(all) => all.merge(reservation),
            None => kept.reservation = Some(reservation),
        }
        kept.uris.extend(new);
        kept.bytes = bytes;
        Ok(())
    }

    pub(crate) fn remove(&self, uri: &str) {
        let mut kept = self.lock();
        let kept = &mut *kept;
        if kept.uris.remove(uri) {
            kept.bytes -= uri.len();
            let left = weight(kept.bytes, kept.uris.len());
            if let Some(reservation) = &mut kept.reservation {
                reservation.shrink_to(left);
            }
        }
    }

    pub(crate) fn contains(&self, uri: &str) -> bool {
        self.lock().uris.contains(uri)
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.lock().uris.iter().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SubscribedUris> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Caller;
    use crate::mcp::BufferBudget;

    #[test]
    fn a_client_may_name_many_resources_but_not_endlessly_many() {
        let buffers = BufferBudget::new(4 << 20);
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
        assert_eq!(buffers.used(), used - weight("a:more".len(), 1));
        let several = |uris: &[&str]| -> Vec<String> { uris.iter().map(|uri| (*uri).to_owned()).collect() };
        assert!(uris.add_all(several(&["b:1", "b:2"])).is_err() && !uris.contains("b:1"), "all or none");
        assert!(uris.add_all(several(&["b:1", "b:1", "a:1"])).is_ok() && uris.contains("b:1"));
        assert!(uris.add("").is_err() && uris.add(&"x".repeat(LONGEST + 1)).is_err());
    }
}
