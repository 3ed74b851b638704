//! Calling a function of a component as a tool.

use std::sync::Arc;

use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::Val;

use super::super::guest_call::{
    CallInfo, CallKind, GuestCall, GuestResult, ResultSize, instantiate_for, required,
};
use super::super::{Content, ContentData, GuestError, Plugin, ToolResult, result_size};
use super::json_to_val::ValReader;
use super::transfer_cost::{SMALL, is_large, taken};
use super::types::ValType;
use super::val_to_json::{JsonWriter, WriteError};
use super::{FunctionTool, ReturnType};
use crate::capability::InstanceCtx;
use crate::config::{kib, mib};
use crate::host::Client;
use crate::sandbox::{ChargeError, HostFuel};

/// What a byte of JSON costs to convert, as bytes that host functions move: about 10 ns.
const CONVERSION: usize = 100;

/// What is said of arguments that nothing could be done with.
const TOO_LONG: &str = "they take more fuel to convert than a call has (limit `fuel`); send less";

/// What a tool says that has no result: an empty answer leaves a model in doubt.
const DONE: &str = "done";

/// What a tool says that failed with no value.
const FAILED: &str = "the tool failed and did not say why";

/// A call of a function, by the name of its tool.
pub(in super::super) struct CallFunction<'a> {
    pub(in super::super) name: &'a str,
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
            name: self.name,
            arguments: self.args.into(),
            caller,
            is_admitted: self.is_admitted,
        }
    }

    async fn invoke(self, plugin: &Plugin, store: &mut Store<InstanceCtx>) -> GuestResult<ToolResult> {
        let functions = required(&plugin.exports.functions, "functions")?;
        let Some(function) = functions.function(self.name) else {
            return Ok(Err(GuestError::NotFound(self.name.to_owned())));
        };
        let limits = &plugin.config().limits;
        let meter = store.data().meter.clone();
        // Before there is an instance: what does not fit costs none, and is not the tool's doing.
        match meter.charge_work(self.args.len().saturating_mul(CONVERSION), 0).await {
            Ok(()) => {}
            Err(ChargeError::Fuel) => return Ok(Err(GuestError::InvalidParams(TOO_LONG.to_owned()))),
            Err(full @ ChargeError::Memory) => return Err(full.into()),
        }
        let (arguments, size) = match function.read(self.args, plugin, &meter).await {
            Ok(read) => read,
            Err(mismatch) => return Ok(Err(GuestError::InvalidParams(mismatch))),
        };
        // They are there until the guest has ended. What is little is part of what every instance is counted with.
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
        let result = function.write(results, kib(limits.result_kib), &meter).await?;
        meter.charge_work(Self::result_size(&result).bytes.saturating_mul(CONVERSION), 0).await?;
        Ok(Ok(result))
    }

    fn result_size(result: &ToolResult) -> ResultSize {
        result_size::tool(result)
    }
}

impl FunctionTool {
    /// The values of arguments, and what they take. Those that are long are read in one of the plugin's permits for
    /// reading, which never wait for checks: one whose call was cancelled reads to its end, and keeps its permit until
    /// then.
    async fn read(&self, args: &str, plugin: &Plugin, meter: &HostFuel) -> Result<(Vec<Val>, usize), String> {
        let limits = &plugin.config().limits;
        let most_mib = limits.transfer_mib;
        if args.len() <= SMALL {
            return read(&self.parameters, args, most_mib);
        }
        let (parameters, args, meter) = (Arc::clone(&self.parameters), args.to_owned(), meter.clone());
        plugin.offload().run_short(move || meter.timed(|| read(&parameters, &args, most_mib))).await
    }

    /// Writes what the function gave. What is large may have to wait for a thread: it is counted like what is handed
    /// over to a host function, until the call is over or charged for something else, and until it is gone.
    pub(super) async fn write(
        &self,
        results: Vec<Val>,
        most: usize,
        meter: &HostFuel,
    ) -> wasmtime::Result<ToolResult> {
        let Some(large) = results.first().filter(|val| is_large(val)) else {
            return Ok(self.returns.tool_result(results.first(), most)?);
        };
        meter.charge_work(0, taken(large)).await?;
        // Whoever cancels the call leaves the account of its memory to the thread.
        let (returns, meter) = (Arc::clone(&self.returns), meter.clone());
        Ok(apart(move || meter.timed(move || returns.tool_result(results.first(), most))).await?)
    }
}

fn read(parameters: &[(String, ValType)], args: &str, most_mib: u64) -> Result<(Vec<Val>, usize), String> {
    let value: Value = serde_json::from_str(args).map_err(|error| format!("`arguments`: {error}"))?;
    let mut reader = ValReader::new(most_mib);
    let arguments = reader.arguments(parameters, &value).map_err(|mismatch| mismatch.to_string())?;
    Ok((arguments, reader.taken()))
}

/// Does what takes long where it holds up nobody.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panicked) => std::panic::resume_unwind(Box::new(panicked)),
    }
}

impl ReturnType {
    /// The result of the tool, of at most so many bytes.
    fn tool_result(&self, val: Option<&Val>, most: usize) -> Result<ToolResult, WriteError> {
        match (self, val) {
            (Self::Nothing, None) => Ok(text(DONE.to_owned())),
            (Self::Value(ty), Some(val)) => good(ty, val, most),
            (Self::Fallible(ok, _), Some(Val::Result(Ok(val)))) => match (ok, val.as_deref()) {
                (Some(ty), Some(val)) => good(ty, val, most),
                (None, None) => Ok(text(DONE.to_owned())),
                _ => Err(WriteError::Misshapen),
            },
            (Self::Fallible(_, err), Some(Val::Result(Err(val)))) => {
                let told = match (err, val.as_deref()) {
                    (Some(ValType::String), Some(Val::String(told))) => told.clone(),
                    (Some(ty), Some(val)) => JsonWriter::json(ty, val, most)?,
                    (None, None) => FAILED.to_owned(),
                    _ => return Err(WriteError::Misshapen),
                };
                Ok(ToolResult { is_error: true, ..text(told) })
            }
            _ => Err(WriteError::Misshapen),
        }
    }
}

/// A result and its text: the bare one of a string; all else is said in JSON where nothing but text is read.
fn good(ty: &ValType, val: &Val, most: usize) -> Result<ToolResult, WriteError> {
    let structured = Some(JsonWriter::object(ty, val, most)?);
    Ok(match val {
        Val::String(told) => ToolResult { structured, ..text(told.clone()) },
        _ => ToolResult { content: Vec::new(), structured, is_error: false, extra: None },
    })
}

fn text(told: String) -> ToolResult {
    let content = Content { data: ContentData::Text(told), annotations: None, extra: None };
    ToolResult { content: vec![content], structured: None, is_error: false, extra: None }
}
