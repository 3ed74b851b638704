//! Who sent a request, to compare with who resumes the stream of its response.

use std::sync::Arc;

use crate::access::policy::Policy;
use crate::call_env::Caller;

/// The caller that sent a request, and the policy of that moment.
#[derive(Debug, Clone)]
pub(crate) struct RequestSender {
    caller: Caller,
    /// `None`: every caller might use everything.
    policy: Option<Arc<Policy>>,
}

impl RequestSender {
    /// The caller of a request that is sent now, under this policy.
    pub(super) fn new(caller: &Caller, policy: Option<Arc<Policy>>) -> Self {
        Self { caller: caller.clone(), policy }
    }

    /// Whether a caller might see and use whatever the sender might, when it sent the request. Changes of the policy
    /// since then count for neither: the response was made before them.
    pub(crate) fn is_covered_by(&self, caller: &Caller) -> bool {
        let covers = |policy: &Arc<Policy>| policy.covers(&caller.subject(), &self.caller.subject());
        self.policy.as_ref().is_none_or(covers)
    }
}
