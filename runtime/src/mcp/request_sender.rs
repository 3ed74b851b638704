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

/// A caller that resumes the stream of a request, maybe with another token than the request was sent with.
#[derive(Debug)]
pub(crate) struct ResumingCaller {
    caller: Caller,
    sender: RequestSender,
    catalog: Arc<Catalog>,
}

impl RequestSender {
    /// The caller of a request that is sent now.
    pub(super) fn new(caller: &Caller, catalog: &Catalog) -> Self {
        Self { caller: caller.clone(), policy: catalog.policy() }
    }

    /// This caller resumes the stream of the request.
    pub(super) fn resumed_by(self, caller: &Caller, catalog: &Arc<Catalog>) -> ResumingCaller {
        ResumingCaller { caller: caller.clone(), sender: self, catalog: Arc::clone(catalog) }
    }
}

impl ResumingCaller {
    /// Whether the caller might see and use whatever the sender might: by the policy of the time of the request, and by
    /// the present one, since the response may be made by either.
    pub(crate) fn may_read(&self) -> bool {
        let Self { caller, sender, catalog } = self;
        let (caller, other) = (caller.subject(), sender.caller.subject());
        let mut policies = sender.policy.iter().cloned().chain(catalog.policy());
        policies.all(|policy| policy.covers(&caller, &other))
    }
}
