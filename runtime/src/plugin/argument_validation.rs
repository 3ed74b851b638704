//! Long validations of arguments, which a plugin's schemas make the server do: each is part of its call.
//!
//! A validation runs before its call has a permit, so that invalid arguments take none from others. The call is counted
//! before it, so that no caller gets more validations than calls. One that takes longer than a call may, or that
//! nobody waits for any more, is recorded as a call that ended so; any other is part of its call's record.
//!
//! None counts for the quarantine. How long a validation takes is up to who wrote the schema and to who sends the
//! arguments, and the second must not be able to take the plugin from all others with a few long lists. What a dear
//! schema costs is bounded without: each validation by `cpu_ms`, and those of one plugin by the few threads that it has
//! for them.

use super::guest_call::{CallInfo, CallKind};
use super::{AuditRecord, CallError, Plugin};
use crate::host::Caller;
use crate::sandbox::{WorkBudget, WorkStopped};

/// A call was counted and let in before its arguments were checked: it is not counted again.
#[derive(Debug)]
pub(crate) struct AdmittedCall(());

impl Plugin {
    /// Counts a call and checks its arguments, with as much processor time as the call may use.
    ///
    /// # Errors
    /// When that takes longer, or the plugin may not be called now.
    pub(crate) async fn validate_arguments<T: Send + 'static>(
        &self,
        tool: &str,
        arguments: &str,
        caller: &Caller,
        check: impl FnOnce(&WorkBudget) -> Result<T, WorkStopped> + Send + 'static,
    ) -> Result<(T, AdmittedCall), CallError> {
        let info = || CallInfo {
            kind: CallKind::CallTool,
            name: tool,
            arguments: arguments.into(),
            caller: caller.clone(),
            is_admitted: false,
        };
        let asked = info();
        let mut record = AuditRecord::new(&self.shared, &self.counters, &asked);
        if let Err(rejected) = self.rate_gate.admit(&asked) {
            record.rejected(&self.rejected_calls);
            record.ended(Err(&rejected));
            self.update_quarantine(CallKind::CallTool, Some(&rejected), &record);
            return Err(rejected);
        }
        let limits = &self.config().limits;
        match self.offload().run_counted(limits.cpu_time(), record.checks(), check).await {
            Ok(checked) => {
                record.discard();
                Ok((checked, AdmittedCall(())))
            }
            // Whoever abandons a check does not come here.
            Err(WorkStopped::Cpu | WorkStopped::Abandoned) => {
                let failure = CallError::limit(limits, "cpu_ms");
                self.offload().in_place(record.bytes_noted(), || record.began(info)).await;
                record.ended(Err(&failure));
                tracing::warn!(target: "plugin", plugin = self.name(), "validating arguments: {failure}");
                Err(failure)
            }
        }
    }
}
