//! Calls a function of a component as a tool.

use std::borrow::Cow;
use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::Val;

use super::super::guest_call::{
    CallInfo, CallKind, GuestCall, GuestResult, ResultSize, instantiate_for, required,
};
use super::super::{Content, ContentData, GuestError, Plugin, ToolResult, result_size};
use super::json_to_val::ValReader;
use super::transfer_cost::{SMALL, heap_bytes, is_large};
use super::types::ValType;
use super::val_to_json::{JsonWriter, WriteError};
use super::{FunctionTool, ReturnType};
use crate::call_env::Client;
use crate::capability::InstanceCtx;
use crate::config::{kib, mib};
use crate::json;
use crate::sandbox::{ChargeError, HostFuel};

/// Host fuel for converting a byte of JSON, in bytes that a host function moves: about 10 ns.
const CONVERSION: usize = 100;

/// The error for arguments that take too much host fuel.
const TOO_LONG: &str = "they take more fuel to convert than a call has (limit `fuel`); send less";

/// The text of a tool without a result: an empty result would leave a model in doubt.
const DONE: &str = "done";

/// The text of a tool that failed without a value.
const FAILED: &str = "the tool failed and did not say why";

/// A call of a function, by the name of its tool.
pub(in super::super) struct CallFunction<'a> {
    pub(in super::super) name: &'a Arc<str>,
    pub(in super::super) args: &'a str,
    pub(in super::super) is_admitted: bool,
    pub(in super::super) client: Arc<dyn Client>,
}

impl GuestCall for CallFunction<'_> {
    type Output = ToolResult;

    fn info(&self) -> CallInfo<'_> {
        let caller = self.client.caller();
        CallInfo {
            kind: CallKind::CallTool,
            name: Arc::clone(self.name),
            arguments: self.arguments(),
            caller,
            roles: self.client.roles(),
            is_admitted: self.is_admitted,
            charge: self.client.charge(),
            trace: self.client.trace(),
            task: self.client.task_switch().cloned(),
        }
    }

    fn arguments(&self) -> Cow<'_, str> {
        self.args.into()
    }

    async fn invoke(self, plugin: &Plugin, store: &mut Store<InstanceCtx>) -> GuestResult<ToolResult> {
        let functions = required(&plugin.exports.functions, "functions")?;
        let Some(function) = functions.function(self.name) else {
            return Ok(Err(GuestError::NotFound(self.name.to_string())));
        };
        let limits = &plugin.config().limits;
        let host_fuel = store.data().host_fuel.clone();
        // Before there is an instance: arguments that do not fit need none, and are not the tool's failure.
        match host_fuel.charge_work(self.args.len().saturating_mul(CONVERSION), 0).await {
            Ok(()) => {}
            Err(ChargeError::Fuel) => return Ok(Err(GuestError::InvalidParams(TOO_LONG.to_owned()))),
            Err(full @ ChargeError::Memory) => return Err(full.into()),
        }
        let (arguments, size) = match function.read(self.args, plugin, &host_fuel).await {
            Ok(arguments) => arguments,
            Err(mismatch) => return Ok(Err(GuestError::InvalidParams(mismatch))),
        };
        // The arguments stay in memory until the guest has ended. Small ones are part of what each instance counts
        // with.
        let counted = if size > SMALL { size } else { 0 };
        if counted > 0 && !store.data_mut().limiter.instance_memory().grow(counted) {
            return Err(ChargeError::Memory.into());
        }
        let instance = instantiate_for(plugin, store, &self.client).await?;
        let entered = instance.get_func(&mut *store, function.index);
        let entered = entered.ok_or_else(|| wasmtime::format_err!("the component has no such function"))?;
        let mut results = match *function.returns {
            ReturnType::Nothing => Vec::new(),
            _ => vec![Val::Bool(false)],
        };
        store.set_hostcall_fuel(mib(limits.transfer_mib) / function.cost_factor);
        entered.call_async(&mut *store, &arguments, &mut results).await?;
        drop(arguments);
        if counted > 0 {
            store.data_mut().limiter.instance_memory().shrink(counted);
        }
        let result = function.write(results, kib(limits.result_kib), &host_fuel).await?;
        host_fuel.charge_work(Self::result_size(&result).bytes.saturating_mul(CONVERSION), 0).await?;
        Ok(Ok(result))
    }

    fn result_size(result: &ToolResult) -> ResultSize {
        result_size::tool(result)
    }
}

impl FunctionTool {
    /// The values of arguments, and their size in memory. Long arguments are read with one of the plugin's permits for
    /// reading, which never wait for validation. The reading of a cancelled call goes on to its end and holds its
    /// permit until then.
    async fn read(
        &self,
        args: &str,
        plugin: &Plugin,
        host_fuel: &HostFuel,
    ) -> Result<(Vec<Val>, usize), String> {
        let limits = &plugin.config().limits;
        let max_mib = limits.transfer_mib;
        if args.len() <= SMALL {
            return read(&self.parameters, args, max_mib);
        }
        let (parameters, args, host_fuel) =
            (Arc::clone(&self.parameters), args.to_owned(), host_fuel.clone());
        plugin.offload().run_short(move || host_fuel.timed(|| read(&parameters, &args, max_mib))).await
    }

    /// Writes the function's result. A large result may have to wait for a thread, so its memory counts like a transfer
    /// to a host function: until the call ends or is charged for something else, and until the thread has dropped it.
    pub(super) async fn write(
        &self,
        results: Vec<Val>,
        max: usize,
        host_fuel: &HostFuel,
    ) -> wasmtime::Result<ToolResult> {
        let Some(large) = results.first().filter(|val| is_large(val)) else {
            return Ok(self.returns.tool_result(results.first(), max)?);
        };
        host_fuel.charge_work(0, heap_bytes(large)).await?;
        // If the call is cancelled, the memory counts until the thread drops its clone of `host_fuel`.
        let (returns, host_fuel) = (Arc::clone(&self.returns), host_fuel.clone());
        Ok(on_blocking_thread(move || host_fuel.timed(move || returns.tool_result(results.first(), max)))
            .await?)
    }
}

fn read(parameters: &[(String, ValType)], args: &str, max_mib: u64) -> Result<(Vec<Val>, usize), String> {
    let value = json::value(args).map_err(|error| format!("`arguments`: {error}"))?;
    let mut reader = ValReader::new(max_mib);
    let arguments = reader.arguments(parameters, &value).map_err(|mismatch| mismatch.to_string())?;
    Ok((arguments, reader.used()))
}

/// Does long work on a thread for blocking work.
async fn on_blocking_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panicked) => std::panic::resume_unwind(Box::new(panicked)),
    }
}

impl ReturnType {
    /// The result of the tool, of at most `max` bytes.
    fn tool_result(&self, val: Option<&Val>, max: usize) -> Result<ToolResult, WriteError> {
        match (self, val) {
            (Self::Nothing, None) => Ok(text(DONE.to_owned())),
            (Self::Value(ty), Some(val)) => success(ty, val, max),
            (Self::Fallible(ok, _), Some(Val::Result(Ok(val)))) => match (ok, val.as_deref()) {
                (Some(ty), Some(val)) => success(ty, val, max),
                (None, None) => Ok(text(DONE.to_owned())),
                _ => Err(WriteError::Misshapen),
            },
            (Self::Fallible(_, err), Some(Val::Result(Err(val)))) => {
                let message = match (err, val.as_deref()) {
                    (Some(ValType::String), Some(Val::String(message))) => message.clone(),
                    (Some(ty), Some(val)) => JsonWriter::json(ty, val, max)?,
                    (None, None) => FAILED.to_owned(),
                    _ => return Err(WriteError::Misshapen),
                };
                Ok(ToolResult { is_error: true, ..text(message) })
            }
            _ => Err(WriteError::Misshapen),
        }
    }
}

/// The result of a tool that succeeded. A string is also its text; any other value becomes text later, for clients that
/// read no structured content.
fn success(ty: &ValType, val: &Val, max: usize) -> Result<ToolResult, WriteError> {
    let structured = Some(JsonWriter::object(ty, val, max)?);
    Ok(match val {
        Val::String(message) => ToolResult { structured, ..text(message.clone()) },
        _ => ToolResult { content: Vec::new(), structured, is_error: false, extra: None },
    })
}

fn text(message: String) -> ToolResult {
    let content = Content { data: ContentData::Text(message), annotations: None, extra: None };
    ToolResult { content: vec![content], structured: None, is_error: false, extra: None }
}
