//! Long checks of arguments, which a plugin's schemas make the server do: part of the calls that they are for.
//!
//! They are done before a call has a place, so that arguments which do not fit take none from others. The call is counted
//! before its check, so that nobody has more long checks made than they may call. A check that takes longer than a call may, or that
//! nobody waits for any more, is noted like a call that ended so. Of any other the call itself tells.
//!
//! None says anything about the plugin for its quarantine. How long a check takes is up to who wrote the schema and to who
//! sends the arguments, and the second must not be able to take the plugin from all others with a few long lists. What a dear
//! schema costs is bounded without: each check by `cpu_ms`, and those of one plugin by the few threads that it has for them.

use super::errand::{Function, Job};
use super::{CallFailure, Plugin, Record};
use crate::host::Caller;
use crate::sandbox::{Allowance, Stopped};

/// A call was counted and let in before its arguments were checked: it is not counted again.
#[derive(Debug)]
pub(crate) struct Admitted(());

impl Plugin {
    /// Counts a call and checks its arguments, with as much processor time as the call may use.
    ///
    /// # Errors
    /// When that takes longer, or the plugin may not be called now.
    pub(crate) async fn check_arguments<T: Send + 'static>(
        &self,
        tool: &str,
        arguments: &str,
        caller: &Caller,
        check: impl FnOnce(&Allowance) -> Result<T, Stopped> + Send + 'static,
    ) -> Result<(T, Admitted), CallFailure> {
        let job = || Job {
            function: Function::CallTool,
            name: tool,
            arguments: arguments.into(),
            caller: caller.clone(),
            is_admitted: false,
        };
        let asked = job();
        let mut record = Record::new(&self.shared, &self.counts, &asked);
        if let Err(refused) = self.admission.check(&asked) {
            record.refused(&self.refusals);
            record.ended(Err(&refused));
            self.learn(Function::CallTool, Some(&refused), &record);
            return Err(refused);
        }
        let limits = &self.config().limits;
        match self.offload().run_noted(limits.cpu(), record.checks(), check).await {
            Ok(checked) => {
                record.dismiss();
                Ok((checked, Admitted(())))
            }
            // Whoever abandons a check does not come here.
            Err(Stopped::Cpu | Stopped::Abandoned) => {
                let failure = CallFailure::limit(limits, "cpu_ms");
                self.offload().in_place(record.bytes_noted(), || record.began(job)).await;
                record.ended(Err(&failure));
                tracing::warn!(target: "plugin", plugin = self.name(), "checking arguments: {failure}");
                Err(failure)
            }
        }
    }
}
