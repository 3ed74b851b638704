//! A call that the layer `mcp` rejects because its caller is over quota. It never reaches the plugin, and has its line
//! in the audit and its count in `plugport status` like other rejected calls.

use std::sync::Arc;

use super::CallLog;
use crate::call_env::Caller;
use crate::plugin::call_error::{CallError, LimitHit};
use crate::plugin::guest_call::{CallInfo, CallKind};

/// A call over quota.
#[derive(Debug)]
pub(crate) struct OverQuotaCall<'a> {
    /// What kind of item is used.
    pub(crate) kind: CallKind,
    /// The plugin's own name of the item.
    pub(crate) name: &'a str,
    /// Who called.
    pub(crate) caller: &'a Caller,
    /// The limit that is used up, and its number.
    pub(crate) limit: (&'static str, u64),
    /// Bytes of the arguments.
    pub(crate) bytes_in: usize,
}

impl CallLog {
    /// Counts and audits a call over quota.
    pub(in crate::plugin) fn record_over_quota(self: &Arc<Self>, call: &OverQuotaCall<'_>) {
        let (name, value) = call.limit;
        let info = CallInfo {
            kind: call.kind,
            name: call.name.into(),
            arguments: "".into(),
            caller: call.caller.clone(),
            roles: None,
            is_admitted: false,
            charge: None,
            trace: None,
            task: None,
        };
        let mut record = self.record(&info);
        record.received(call.bytes_in);
        record.rejected();
        record.ended(Err(&CallError::Limit(LimitHit { name, value })));
    }
}
