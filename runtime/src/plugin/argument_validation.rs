//! Long validations of arguments, which a plugin's schemas make the server do: each is part of its call.
//!
//! A validation runs before its call has a permit, so that invalid arguments take none from others. The call is counted
//! before it, so that no caller gets more validations than calls. A validation that takes longer than a call may, or
//! that is abandoned, is recorded as a call that ended so; any other is part of its call's record.
//!
//! Validations do not count for the quarantine. Their time depends on the arguments as well as on the schema, and a
//! client must not be able to have the plugin quarantined with a few long lists. The cost of an expensive schema is
//! bounded by `cpu_ms` for each validation, and by the few threads that a plugin has for all of its validations.

use std::sync::Arc;

use super::guest_call::{CallInfo, CallKind};
use super::{CallError, Plugin};
use crate::access::CallCharge;
use crate::call_env::Caller;
use crate::sandbox::{WorkBudget, WorkStopped};

/// Proof that a call was counted and admitted before its arguments were validated, so that it is not counted again.
#[derive(Debug)]
pub(crate) struct AdmittedCall(());

impl Plugin {
    /// Counts a call and validates its arguments, with as much processor time as the call may use. The time is charged
    /// to the caller's quota.
    ///
    /// # Errors
    /// When validation takes longer, or the plugin may not be called now.
    pub(crate) async fn validate_arguments<T: Send + 'static>(
        &self,
        tool: &Arc<str>,
        arguments: &str,
        (caller, charge): (&Caller, Option<&Arc<CallCharge>>),
        check: impl FnOnce(&WorkBudget) -> Result<T, WorkStopped> + Send + 'static,
    ) -> Result<(T, AdmittedCall), CallError> {
        let received = CallInfo {
            kind: CallKind::CallTool,
            name: Arc::clone(tool),
            arguments: arguments.into(),
            caller: caller.clone(),
            roles: None,
            is_admitted: false,
            charge: charge.cloned(),
            // A validation that ends in time is part of the call, whose span begins later.
            trace: None,
            task: None,
        };
        let mut record = self.call_log.record(&received);
        if let Err(rejected) = self.rate_gate.admit(&received) {
            record.rejected();
            record.ended(Err(&rejected));
            self.update_quarantine(CallKind::CallTool, Some(&rejected), &record);
            return Err(rejected);
        }
        let limits = &self.config().limits;
        match self.offload().run_counted(limits.cpu_time(), record.validation_time(), check).await {
            Ok(checked) => {
                record.discard();
                Ok((checked, AdmittedCall(())))
            }
            // Work is abandoned only when this future is dropped, so `Abandoned` is never seen here.
            Err(WorkStopped::Cpu | WorkStopped::Abandoned) => {
                let failure = CallError::limit(limits, "cpu_ms");
                self.offload().in_place(record.arguments_work(), || record.began(|| arguments.into())).await;
                record.ended(Err(&failure));
                tracing::warn!(target: "plugin", plugin = self.name(), "validating arguments: {failure}");
                Err(failure)
            }
        }
    }
}
