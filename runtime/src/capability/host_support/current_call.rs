//! The call that an instance serves now. Its handle has a number that no other call of this instance has or had.
//!
//! Some guests never drop their handle. If its number were used again, as the numbers of the resource table are, the
//! old handle would refer to the next call. So the numbers only count up, and a handle is valid only while its call is
//! served.

use std::sync::Arc;
use std::time::Instant;

use wasmtime::component::Resource;

use crate::call_env::Client;
use crate::config::fixed_limits::PROGRESS_PER_SECOND;
use crate::token_bucket::TokenBucket;

/// One call: what the guest's handle refers to.
pub struct Call {
    pub(in crate::capability) client: Arc<dyn Client>,
    /// Made with the first progress.
    throttle: Option<ProgressThrottle>,
    /// The request's `_meta`, read when the guest first asks for it: a client may send much of it, and a guest may ask
    /// often.
    pub(in crate::capability) meta: Option<Option<String>>,
}

impl Call {
    pub(crate) fn new(client: Arc<dyn Client>) -> Self {
        Self { client, throttle: None, meta: None }
    }

    /// Whether this progress is sent to the client.
    pub(in crate::capability) fn admit_progress(&mut self, progress: f64, now: Instant) -> bool {
        let throttle = self.throttle.get_or_insert_with(|| ProgressThrottle::new(PROGRESS_PER_SECOND));
        throttle.admit(progress, now)
    }
}

/// Lets progress through at a bounded rate, and only forwards: MCP requires each value to be larger than the last.
struct ProgressThrottle {
    bucket: TokenBucket,
    last: Option<f64>,
}

impl ProgressThrottle {
    fn new(per_second: u64) -> Self {
        Self { bucket: TokenBucket::per_second(per_second), last: None }
    }

    fn admit(&mut self, progress: f64, now: Instant) -> bool {
        let grown = self.last.is_none_or(|last| progress > last);
        let admitted = progress.is_finite() && grown && self.bucket.take(1, now);
        if admitted {
            self.last = Some(progress);
        }
        admitted
    }
}

/// A guest used the handle of a call that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this handle is of a call that has ended")]
pub(crate) struct StaleCallHandle;

/// The calls of one instance, one after the other.
#[derive(Default)]
pub(crate) struct CurrentCall {
    /// Calls so far; the number of the newest handle.
    count: u32,
    current: Option<Call>,
}

impl CurrentCall {
    /// Begins a call and ends the one before it. Returns the handle for the guest.
    pub(crate) fn begin(&mut self, call: Call) -> Resource<Call> {
        self.count = self.count.saturating_add(1);
        self.current = Some(call);
        Resource::new_own(self.count)
    }

    /// Ends the call, whether or not the guest has dropped its handle.
    pub(in crate::capability) fn end(&mut self) {
        self.current = None;
    }

    pub(in crate::capability) fn get(&self, handle: &Resource<Call>) -> Result<&Call, StaleCallHandle> {
        self.current.as_ref().filter(|_| handle.rep() == self.count).ok_or(StaleCallHandle)
    }

    pub(in crate::capability) fn get_mut(
        &mut self,
        handle: &Resource<Call>,
    ) -> Result<&mut Call, StaleCallHandle> {
        self.current.as_mut().filter(|_| handle.rep() == self.count).ok_or(StaleCallHandle)
    }

    /// The guest drops a handle, perhaps an old one.
    pub(in crate::capability) fn drop_handle(&mut self, handle: &Resource<Call>) {
        if handle.rep() == self.count {
            self.current = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_env::{Caller, NoClient};
    use std::time::Duration;

    fn call() -> Call {
        Call::new(Arc::new(NoClient(Caller::CommandLine)))
    }

    #[test]
    fn a_handle_answers_while_its_request_is_served_and_never_for_another() {
        let mut calls = CurrentCall::default();
        let first = calls.begin(call());
        assert!(calls.get(&first).is_ok() && calls.get_mut(&first).is_ok());
        calls.end();
        assert_eq!(calls.get(&first).err(), Some(StaleCallHandle));
        let second = calls.begin(call());
        assert_ne!(first.rep(), second.rep());
        assert!(calls.get(&first).is_err() && calls.get_mut(&first).is_err() && calls.get(&second).is_ok());
        calls.drop_handle(&first);
        assert!(calls.get(&second).is_ok(), "dropping an old handle ends nothing");
        calls.drop_handle(&second);
        assert!(calls.get(&second).is_err());
    }

    #[test]
    fn progress_only_grows_and_keeps_to_its_pace() {
        let mut throttle = ProgressThrottle::new(2);
        let start = Instant::now();
        assert!(throttle.admit(1.0, start));
        assert!(!throttle.admit(1.0, start), "equal is not progress");
        assert!(!throttle.admit(f64::NAN, start));
        assert!(throttle.admit(2.0, start));
        assert!(!throttle.admit(3.0, start), "the burst is used up");
        assert!(throttle.admit(4.0, start + Duration::from_millis(600)));
    }
}
