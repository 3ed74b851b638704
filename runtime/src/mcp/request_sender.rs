//! Who sent a request, and who else may read the stream of its response.

use std::sync::Arc;

use crate::access::policy::Policy;
use crate::call_env::Caller;
use crate::catalog::Catalog;

/// The caller that sent a request, and the policy of that moment.
#[derive(Debug, Clone)]
pub(crate) struct RequestSender {
    caller: Caller,
    /// `None`: every caller might use everything.
    policy: Option<Arc<Policy>>,
}

impl RequestSender {
    /// The caller of a request that is sent now.
    pub(super) fn new(caller: &Caller, catalog: &Catalog) -> Self {
        Self { caller: caller.clone(), policy: catalog.policy() }
    }

    /// Whether this caller might see and use whatever the sender might, by this policy; by none everybody might.
    fn is_covered_by(&self, caller: &Caller, policy: Option<&Arc<Policy>>) -> bool {
        policy.is_none_or(|policy| policy.covers(&caller.subject(), &self.caller.subject()))
    }
}

/// A caller that reads the stream of a request, maybe with another token than the request was sent with.
#[derive(Debug)]
pub(crate) struct ResumingCaller {
    caller: Caller,
    sender: RequestSender,
    catalog: Arc<Catalog>,
}

impl ResumingCaller {
    /// Returns `None` if the stream is not for this caller: by the policy of the time of the request, or by the present
    /// one, since the response may be made by either.
    pub(super) fn new(sender: RequestSender, caller: &Caller, catalog: &Arc<Catalog>) -> Option<Self> {
        let might_read = sender.is_covered_by(caller, sender.policy.as_ref());
        let resuming = Self { caller: caller.clone(), sender, catalog: Arc::clone(catalog) };
        Some(resuming).filter(|resuming| might_read && resuming.may_read())
    }

    /// Whether the present policy still lets this caller read the stream.
    pub(crate) fn may_read(&self) -> bool {
        let (present, compared) = (self.catalog.policy(), self.sender.policy.as_ref());
        let is_compared = present.as_ref().zip(compared).is_some_and(|(one, other)| Arc::ptr_eq(one, other));
        is_compared || self.sender.is_covered_by(&self.caller, present.as_ref())
    }
}
