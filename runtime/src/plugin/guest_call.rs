//! One call of a guest, whatever the interface.
//!
//! Every call runs under the same limits; only what it invokes and the size of its result differ. An interface's
//! file has these two and nothing else, and `invoke.rs` has everything that calls share.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use wasmtime::Store;
use wasmtime::component::{Instance, Resource};

use super::{GuestError, Plugin};
use crate::access::CallCharge;
use crate::call_env::{Caller, Client, TaskSwitch};
use crate::capability::{Call, InstanceCtx};
use crate::observe::trace::SpanScope;

/// What comes back from entering a guest: a trap, the guest's own error, or its output.
pub(super) type GuestResult<T> = wasmtime::Result<Result<T, GuestError>>;

/// A call into a guest.
pub(super) trait GuestCall: Send + Sync {
    /// What the guest returns.
    type Output: Send;

    /// What is called, for rates and the audit.
    fn info(&self) -> CallInfo<'_>;

    /// Its arguments, as [`CallInfo`] has them.
    fn arguments(&self) -> Cow<'_, str>;

    /// Enters the guest.
    fn invoke(
        self,
        plugin: &Plugin,
        store: &mut Store<InstanceCtx>,
    ) -> impl Future<Output = GuestResult<Self::Output>> + Send;

    /// What the limits on results count.
    fn result_size(output: &Self::Output) -> ResultSize;
}

/// Bytes and items of a result, and whether the result says that the guest failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ResultSize {
    pub(super) bytes: usize,
    pub(super) items: usize,
    pub(super) failed: bool,
}

/// What a call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallUsage {
    /// Fuel of the guest and of host functions for it.
    pub fuel: u64,
    /// From its start to its end; waiting for a permit or for the client does not count.
    pub elapsed: Duration,
    /// Processor time of the guest, of host functions for it and of long validations for the call, on any thread.
    pub cpu: Duration,
}

/// What is called, and by whom.
#[derive(Debug)]
pub(super) struct CallInfo<'a> {
    pub(super) kind: CallKind,
    /// The plugin's own name for what is called.
    pub(super) name: Arc<str>,
    /// JSON, as the client sent it where it sent JSON.
    pub(super) arguments: Cow<'a, str>,
    pub(super) caller: Caller,
    /// The names of the roles that allow the call; `None` without `[roles]`.
    pub(super) roles: Option<Arc<str>>,
    /// The rate gate admitted the call before its arguments were validated.
    pub(super) is_admitted: bool,
    /// What the call is charged to; `None`: no quota holds.
    pub(super) charge: Option<Arc<CallCharge>>,
    /// The span of the client's request; `None`: it is not recorded.
    pub(super) trace: Option<SpanScope>,
    /// Tells when the call has become a task; `None`: it never does.
    pub(super) task: Option<Arc<TaskSwitch>>,
}

/// The methods of MCP that call a guest, and listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    List,
    CallTool,
    ReadResource,
    GetPrompt,
    Complete,
}

impl CallKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::List => "listing",
            Self::CallTool => "tools/call",
            Self::ReadResource => "resources/read",
            Self::GetPrompt => "prompts/get",
            Self::Complete => "completion/complete",
        }
    }
}

/// A fresh instance in the call's own store.
pub(super) async fn instantiate(
    plugin: &Plugin,
    store: &mut Store<InstanceCtx>,
) -> wasmtime::Result<Instance> {
    plugin.pre.instantiate_async(store).await
}

/// The instance for a client's call: the store's own from the pool, or a fresh one. Where it is granted, the client's
/// roots are among its directories.
pub(super) async fn instantiate_for(
    plugin: &Plugin,
    store: &mut Store<InstanceCtx>,
    client: &Arc<dyn Client>,
) -> wasmtime::Result<Instance> {
    let state = store.data_mut();
    state.served = state.served.saturating_add(1);
    if let Some(instance) = state.instance {
        return Ok(instance);
    }
    store.data_mut().open_roots(client).await?;
    let instance = instantiate(plugin, store).await?;
    store.data_mut().instance = Some(instance);
    Ok(instance)
}

/// The handle of the request, as the guest gets it.
pub(super) fn handle(store: &mut Store<InstanceCtx>, client: Arc<dyn Client>) -> Resource<Call> {
    let call = Call::new(client);
    store.data_mut().current_call.begin(call)
}

/// Named arguments as JSON, in their order.
pub(super) fn arguments_json(arguments: &[(String, String)]) -> String {
    serde_json::to_string(arguments).unwrap_or_default()
}

/// The indices of an exported interface.
///
/// # Errors
/// When the component lacks the interface.
pub(super) fn required<'i, I>(indices: &'i Option<I>, interface: &str) -> wasmtime::Result<&'i I> {
    indices.as_ref().ok_or_else(|| wasmtime::format_err!("the component has no {interface}"))
}
