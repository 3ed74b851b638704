//! Calls of tools that the server answers itself: they are counted and audited as others, and enter no guest.

use std::sync::Arc;

use super::guest_call::{CallInfo, CallKind};
use super::{AdmittedCall, AuditRecord, CallError, Plugin};
use crate::call_env::Client;

impl Plugin {
    /// Begins a call that the server answers. `admitted`, if the call was counted before its arguments were validated.
    ///
    /// # Errors
    /// When the tool or its caller calls too often. A quarantine does not matter, since it is one of the guest.
    pub(crate) async fn begin_served_call(
        &self,
        tool: &Arc<str>,
        arguments: &str,
        admitted: Option<AdmittedCall>,
        client: &dyn Client,
    ) -> Result<AuditRecord, CallError> {
        let info = CallInfo {
            kind: CallKind::CallTool,
            name: Arc::clone(tool),
            arguments: arguments.into(),
            caller: client.caller(),
            roles: client.roles(),
            is_admitted: admitted.is_some(),
            charge: client.charge(),
            // The span is that of a guest.
            trace: None,
            task: None,
        };
        let mut record = self.call_log.record(&info);
        if let Err(rejected) = self.rate_gate.admit_rate(&info) {
            record.rejected();
            record.ended(Err(&rejected));
            self.update_quarantine(info.kind, Some(&rejected), &record);
            return Err(rejected);
        }
        self.offload().in_place(record.arguments_work(), || record.began(|| arguments.into())).await;
        Ok(record)
    }
}
