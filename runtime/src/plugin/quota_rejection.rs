//! Calls that the layer `mcp` rejects because their caller is over quota. They never reach the plugin, and have their
//! lines in the audit and their counts in `plugport status` like other rejected calls.

use super::Plugin;
use super::call_error::{CallError, LimitHit};
use super::guest_call::{CallInfo, CallKind};
use crate::call_env::Caller;

impl Plugin {
    /// Notes a call that was rejected, by its kind, its item and the bytes of its arguments, and the limit that it hit.
    pub(crate) fn reject_over_quota(
        &self,
        (kind, name, bytes_in): (CallKind, &str, usize),
        caller: &Caller,
        (limit, value): (&'static str, u64),
    ) {
        let info = CallInfo {
            kind,
            name,
            arguments: "".into(),
            caller: caller.clone(),
            roles: None,
            is_admitted: false,
            charge: None,
            trace: None,
        };
        let mut record = self.call_log.record(&info);
        record.received(bytes_in);
        record.rejected();
        record.ended(Err(&CallError::Limit(LimitHit { name: limit, value })));
    }
}
