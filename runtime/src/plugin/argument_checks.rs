//! Long checks of arguments, which a plugin's schemas make the server do: part of the calls that they are for.
//!
//! They are done before a call has a place, so that arguments which do not fit take none from others. One that takes longer
//! than a call may, or that nobody waits for any more, is noted like a call that ended so and counts like one. Of any other the
//! call itself tells.

use super::errand::{Function, Job};
use super::{CallFailure, Plugin, Record};
use crate::host::Caller;
use crate::sandbox::{Allowance, Stopped};

impl Plugin {
    /// Checks the arguments of a call, with as much processor time as the call may use.
    ///
    /// # Errors
    /// When that takes longer, or the plugin is left alone.
    pub(crate) async fn check_arguments<T: Send + 'static>(
        &self,
        tool: &str,
        arguments: &str,
        caller: &Caller,
        check: impl FnOnce(&Allowance) -> Result<T, Stopped> + Send + 'static,
    ) -> Result<T, CallFailure> {
        let job = || Job {
            function: Function::CallTool,
            name: tool,
            arguments: arguments.into(),
            caller: caller.clone(),
        };
        let mut record = Record::new(&self.shared, &self.counts, &job());
        if let Some(left) = self.quarantined() {
            let refused = CallFailure::Quarantined { seconds: left.as_secs() + 1 };
            record.refused(&self.refusals);
            record.ended(Err(&refused));
            self.learn(Function::CallTool, Some(&refused), &record);
            return Err(refused);
        }
        let limits = &self.config().limits;
        match self.offload().run_noted(limits.cpu(), record.checks(), check).await {
            Ok(checked) => {
                record.dismiss();
                Ok(checked)
            }
            // Whoever abandons a check does not come here.
            Err(Stopped::Cpu | Stopped::Abandoned) => {
                let failure = CallFailure::limit(limits, "cpu_ms");
                self.offload().in_place(record.bytes_noted(), || record.began(job)).await;
                // The schema is the guest's.
                record.entered();
                record.ended(Err(&failure));
                tracing::warn!(target: "plugin", plugin = self.name(), "checking arguments: {failure}");
                self.learn(Function::CallTool, Some(&failure), &record);
                Err(failure)
            }
        }
    }
}
