//! `tools/call`.

use std::pin::pin;
use std::sync::Arc;

use serde_json::Value;

use super::super::error::RpcError;
use super::super::param_errors::reason;
use super::super::params::Params;
use super::super::request_context::RequestContext;
use super::super::result_writer::EncodedResult;
use super::super::server::Server;
use super::super::wire::ResultView;
use super::error_mapping::{MappedError, map_tool_error};
use super::guest_task;
use crate::catalog::{PublishedTool, SchemaMismatch, Snapshot};
use crate::host::Caller;
use crate::plugin::{AdmittedCall, AuditRecord, CallError, FinishedCall, ToolResult};
use crate::sandbox::{SMALL, WorkBudget, WorkStopped};

/// Calls a tool. `None` when the client withdrew the request.
pub(in super::super) async fn call(
    server: &Server,
    snapshot: Arc<Snapshot>,
    context: &Arc<RequestContext>,
    params: &Params,
) -> Option<Result<EncodedResult, RpcError>> {
    let bytes = params.len();
    let prepared = server.reading().in_place(bytes, || prepare(&snapshot, params)).await;
    drop(snapshot);
    let (tool, args) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Some(Err(error)),
    };
    let (args, admitted) =
        match guest_task::until_cancelled(context, pin!(check(&tool, &args, &context.caller))).await? {
            Ok(checked) => checked,
            Err(ArgumentError::Invalid(error)) => return Some(Err(error)),
            Err(ArgumentError::Mismatch(mismatch)) => {
                let told = format!("the arguments do not fit the tool's schema: {mismatch}");
                return Some(error_result(server, context, told));
            }
            Err(ArgumentError::Stopped(failure)) => return Some(fail(server, context, &tool, failure)),
        };
    let client = guest_task::client(server, context, &tool.plugin);
    let call = pin!(tool.plugin.call_validated(&tool.tool.name, &args, admitted, client));
    let FinishedCall { outcome, mut record } = guest_task::run(context, &tool.name, call).await?;
    match outcome {
        Ok(result) => {
            guest_task::until_cancelled(context, pin!(finish(server, context, &tool, &result, &mut record)))
                .await
        }
        Err(failure) => Some(fail(server, context, &tool, failure)),
    }
}

/// Says why a call has no result.
fn fail(
    server: &Server,
    context: &RequestContext,
    tool: &PublishedTool,
    failure: CallError,
) -> Result<EncodedResult, RpcError> {
    match map_tool_error(failure, &tool.name, context.revision) {
        MappedError::ToolResult(text) => error_result(server, context, text),
        MappedError::Rpc(error) => Err(error),
    }
}

/// The tool that is meant, and the text of its arguments, not looked into yet.
fn prepare(snapshot: &Snapshot, params: &Params) -> Result<(Arc<PublishedTool>, Arc<str>), RpcError> {
    let name = params.name()?;
    let tool = snapshot.tool(&name).ok_or_else(|| RpcError::unknown_tool(&name))?;
    Ok((Arc::clone(tool), params.arguments().unwrap_or("{}").into()))
}

/// Why a tool is not called with some arguments.
enum ArgumentError {
    Invalid(RpcError),
    Mismatch(SchemaMismatch),
    /// Looking at them takes too long, or the plugin may not be called now.
    Stopped(CallError),
}

/// Values that arguments may have. As a tree each takes a hundred bytes and more, however short its text.
const VALUES: usize = 250_000;

/// Whether arguments have more values than they may: counted by what separates them in the text.
fn has_too_many(args: &str) -> bool {
    let (mut values, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in args.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => values += 1,
            _ => {}
        }
    }
    values > VALUES
}

/// Bytes of arguments that have nulls, and of their schema, with which they are checked at once: which nulls stand for
/// nothing takes reading the schema anew and following it, for each byte far longer than the check.
const SHORT: usize = 4 << 10;

/// Whether looking at arguments is sure to be short, but for the check itself.
fn is_short(args: &str, schema: &str) -> bool {
    let is_small = args.len() <= SMALL && schema.len() <= SMALL;
    is_small && (args.len() + schema.len() <= SHORT || !args.contains("null"))
}

/// The value of arguments.
fn parse(args: &str) -> Result<Value, ArgumentError> {
    let invalid = |why: &str| ArgumentError::Invalid(RpcError::invalid_params(why));
    if args.len() > SMALL && has_too_many(args) {
        return Err(invalid(&format!("`params.arguments` has more than {VALUES} values")));
    }
    let value: Value = serde_json::from_str(args)
        .map_err(|error| invalid(&format!("`params.arguments`: {}", reason(&error))))?;
    if !value.is_object() {
        return Err(invalid("`params.arguments` must be an object"));
    }
    Ok(value)
}

/// Checks arguments: at once when that is short, else where it holds up nobody, as work for the plugin that wrote the
/// schema. The text of what is passed to the tool, and whether the call was let in for the check.
async fn check(
    tool: &Arc<PublishedTool>,
    args: &Arc<str>,
    caller: &Caller,
) -> Result<(Arc<str>, Option<AdmittedCall>), ArgumentError> {
    if is_short(args, tool.input.text().get()) {
        let mut value = parse(args)?;
        let text = tool.input.remove_nulls(args, &mut value, None);
        let text = text.map_or_else(|| Arc::clone(args), Arc::from);
        if let Some(checked) = tool.input.validate_if_short(&value) {
            return checked.map(|()| (text, None)).map_err(ArgumentError::Mismatch);
        }
    }
    let (checked, text) = (Arc::clone(tool), Arc::clone(args));
    let work = move |allowance: &WorkBudget| -> Result<_, WorkStopped> {
        // Parsed here, since a value may take thirty times the memory of its text, and dropping it time.
        let mut value = match parse(&text) {
            Ok(value) => value,
            Err(unfit) => return Ok(Err(unfit)),
        };
        // Reading them is the client's doing, and not the schema's.
        let allowance = allowance.renewed();
        let left = checked.input.remove_nulls(&text, &mut value, Some(&allowance));
        allowance.check()?;
        let text = left.map_or(text, Arc::from);
        let fits = checked.input.validate(&value, text.len(), &allowance)?;
        Ok(fits.map(|()| text).map_err(ArgumentError::Mismatch))
    };
    let checking = tool.plugin.validate_arguments(&tool.tool.name, args, caller, work);
    let (checked, admitted) = checking.await.map_err(ArgumentError::Stopped)?;
    checked.map(|text| (text, Some(admitted)))
}

async fn finish(
    server: &Server,
    context: &RequestContext,
    tool: &Arc<PublishedTool>,
    result: &ToolResult,
    record: &mut AuditRecord,
) -> Result<EncodedResult, RpcError> {
    let (offload, bytes) = (tool.plugin.offload(), record.bytes_out());
    let _reservation = guest_task::reserve_result(server, context, bytes)?;
    // Until it is written the client may withdraw the call, also while this waits for a place.
    let unchecked = record.checking();
    let view = match offload.in_place(bytes, || ResultView::new(result)).await {
        Ok(view) => keeps_promise(tool, &view, record).await.map(|()| view),
        Err(fault) => Err(ResultError::Contract(fault)),
    };
    match view {
        Ok(view) => {
            let write = || EncodedResult::new(&view, context.revision, &server.info);
            let written = offload.in_place(bytes, write).await;
            record.checked(unchecked);
            written
        }
        Err(ResultError::Contract(fault)) => {
            guest_task::record_invalid_result(record, &tool.plugin, &tool.name, &fault);
            let fault = tool.plugin.redactor().text(&fault);
            error_result(server, context, format!("the tool returned an invalid result: {fault}"))
        }
        Err(ResultError::Limit(failure)) => error_result(server, context, failure.to_string()),
    }
}

/// Why a result is not passed on.
enum ResultError {
    Contract(String),
    Limit(CallError),
}

/// Checks structured content against the schema that the tool promised: at once when that is short, else as part of the
/// call, with the processor time that its guest has left.
async fn keeps_promise(
    tool: &Arc<PublishedTool>,
    view: &ResultView<'_>,
    record: &mut AuditRecord,
) -> Result<(), ResultError> {
    if let Some(kept) = tool.matches_output_schema_if_short(view.structured(), view.is_error()) {
        return kept.map_err(ResultError::Contract);
    }
    let (structured, failed) = (view.structured().map(ToOwned::to_owned), view.is_error());
    let limits = &tool.plugin.config().limits;
    let left = limits.cpu_time().saturating_sub(record.usage().cpu);
    let checked = Arc::clone(tool);
    let work = move |allowance: &WorkBudget| -> Result<_, WorkStopped> {
        let kept = checked.matches_output_schema(structured.as_deref(), failed, allowance)?;
        // Also when it is done: what took too long is no success.
        allowance.check().map(|()| kept)
    };
    match tool.plugin.offload().run_counted(left, record.checks(), work).await {
        Ok(kept) => kept.map_err(ResultError::Contract),
        Err(WorkStopped::Cpu | WorkStopped::Abandoned) => {
            let failure = CallError::limit(limits, "cpu_ms");
            record.exceeded(&failure);
            tracing::warn!(target: "plugin", plugin = tool.plugin.name(), "validating a result: {failure}");
            Err(ResultError::Limit(failure))
        }
    }
}

/// A tool result that says what went wrong, for the model to read.
fn error_result(server: &Server, context: &RequestContext, text: String) -> Result<EncodedResult, RpcError> {
    EncodedResult::new(&ResultView::error(text), context.revision, &server.info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_are_left_out_at_once_where_arguments_and_schema_are_short_together() {
        let (null, text) = (r#"{"a":null}"#, r#"{"a":"nul"}"#);
        let long = |args: &str, length: usize| format!("{args}{}", " ".repeat(length - args.len()));
        assert!(is_short(null, &long("{}", SHORT - null.len())));
        assert!(!is_short(null, &long("{}", SHORT)) && !is_short(&long(null, SHORT), "{}"));
        assert!(is_short(&long(text, SMALL), &long("{}", SMALL)));
        assert!(!is_short(&long(text, SMALL + 1), "{}") && !is_short(text, &long("{}", SMALL + 1)));
    }

    #[test]
    fn values_are_counted_by_what_separates_them_and_not_in_texts() {
        assert!(has_too_many(&format!("[{}1]", "1,".repeat(VALUES))));
        assert!(has_too_many(&format!("[{}", r#"{"":0},"#.repeat(VALUES / 2 + 1))));
        let quoted = serde_json::json!({ "text": ",[{\\\"".repeat(VALUES) }).to_string();
        assert!(!has_too_many(&quoted));
        assert!(!has_too_many(&format!("[{}1]", "1,".repeat(VALUES / 2))));
    }
}
