//! `tools/call`.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;

use serde_json::Value;

use super::super::catalog_view::CatalogView;
use super::super::error::RpcError;
use super::super::param_errors::reason;
use super::super::params::Params;
use super::super::request_context::RequestContext;
use super::super::result_writer::EncodedResult;
use super::super::server::Server;
use super::super::wire::ResultView;
use super::error_mapping::{MappedError, map_tool_error};
use super::hidden_items::HiddenLinks;
use super::item_access::{self, AccessError, AllowingRoles};
use super::quotas::{self, CalledItem};
use super::{run_guest_call, task_result_tool, tasks};
use crate::access::CallCharge;
use crate::call_env::Caller;
use crate::catalog::{PublishedTool, SchemaMismatch};
use crate::json;
use crate::plugin::{AdmittedCall, AuditRecord, CallError, CallKind, FinishedCall, ToolResult};
use crate::sandbox::{SMALL, WorkBudget, WorkStopped};

/// Calls a tool. `None` when the client cancelled the request.
pub(in super::super) async fn call(
    server: &Server,
    view: CatalogView,
    context: &Arc<RequestContext>,
    params: &Params,
) -> Option<Result<EncodedResult, RpcError>> {
    let prepare = || prepare(&view, &context.caller, params);
    let prepared = server.reading().in_place(params.work(), prepare).await;
    drop(view);
    let PreparedCall { tool, result_tool, roles, certainly_fits } = match prepared {
        Ok(prepared) => prepared,
        Err(NotCallable::Rpc(error)) => return Some(Err(error)),
        Err(NotCallable::Arguments(why)) => return Some(error_result(server, context, why)),
    };
    if let Err(error) = tasks::note_tool(context, &tool, result_tool) {
        return Some(Err(error));
    }
    if let Some(metrics) = &server.metrics {
        metrics.note_tool(context, &tool);
    }
    if let Some(trace) = &context.trace {
        trace.calls_tool(&tool.plugin, &tool.name);
    }
    let called = CalledItem {
        plugin: &tool.plugin,
        kind: CallKind::CallTool,
        name: &tool.tool.name,
        bytes_in: arguments(params).len(),
    };
    let allowed = match quotas::admit(server, context, roles, called).await {
        Ok(allowed) => allowed,
        Err(over) if context.leg().has_status => return Some(Err(RpcError::over_quota(&over))),
        // If the transport has no status code for this, the model gets the text.
        Err(over) => return Some(error_result(server, context, over.to_string())),
    };
    let charge = allowed.charge.as_ref();
    let checked = match certainly_fits {
        true => Ok((Cow::Borrowed(arguments(params)), None)),
        false => run_guest_call::until_cancelled(context, pin!(check(&tool, context, charge))).await?,
    };
    let (args, admitted) = match checked {
        Ok(checked) => checked,
        Err(ArgumentError::Invalid(error)) => return Some(Err(error)),
        Err(ArgumentError::Mismatch(mismatch)) => {
            let text = format!("the arguments do not fit the tool's schema: {mismatch}");
            return Some(error_result(server, context, text));
        }
        Err(ArgumentError::Stopped(failure)) => return Some(fail(server, context, &tool, failure)),
    };
    if let Err(error) = run_guest_call::until_cancelled(context, pin!(tasks::begin(context, &tool))).await? {
        return Some(Err(error));
    }
    let client = run_guest_call::client(server, context, &tool.plugin, allowed);
    if tool.is_result_tool {
        let answered = task_result_tool::answer(server, context, &tool, (&*args, admitted), &*client).await;
        return answered.unwrap_or_else(|failure| Some(fail(server, context, &tool, failure)));
    }
    let call = pin!(tool.plugin.call_validated(&tool.own_name, &args, admitted, client));
    let FinishedCall { outcome, mut record } = run_guest_call::run(context, &tool.name, call).await?;
    match outcome {
        Ok(result) => {
            run_guest_call::until_cancelled(
                context,
                pin!(finish(server, context, &tool, &result, &mut record)),
            )
            .await
        }
        Err(failure) => Some(fail(server, context, &tool, failure)),
    }
}

/// The response to a failed call.
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

/// Why this caller cannot call a tool.
enum NotCallable {
    Rpc(RpcError),
    /// A condition does not allow these arguments.
    Arguments(String),
}

impl From<RpcError> for NotCallable {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

/// A tool that this caller may call.
struct PreparedCall {
    tool: Arc<PublishedTool>,
    /// The name of the tool that waits for results of the plugin's bridged calls, if there is one for this caller.
    result_tool: Option<Arc<str>>,
    roles: AllowingRoles,
    /// Whether the arguments are certain to be valid for the tool's schema. If not, they have to be validated.
    certainly_fits: bool,
}

/// The text of the arguments, unparsed.
fn arguments(params: &Params) -> &str {
    params.arguments().unwrap_or("{}")
}

fn prepare(view: &CatalogView, caller: &Caller, params: &Params) -> Result<PreparedCall, NotCallable> {
    let name = params.name()?;
    let tool = view.snapshot.tool(&name).ok_or_else(|| RpcError::unknown_tool(&name))?;
    match item_access::check_tool(view, caller, tool, arguments(params)) {
        Ok(mut roles) => {
            if tool.is_result_tool {
                // The quotas have counted the call for whose result it waits, and may be used up by it.
                roles.quotas.clear();
            }
            let certainly_fits = tool.input.certainly_fits(arguments(params));
            let result_tool = view.snapshot.result_tool(tool.plugin.name());
            let result_tool = result_tool.map(|result_tool| result_tool.name.as_str().into());
            Ok(PreparedCall { tool: Arc::clone(tool), result_tool, roles, certainly_fits })
        }
        Err(AccessError::Arguments(why)) => Err(NotCallable::Arguments(why)),
        Err(error) => Err(error.into_rpc(|| RpcError::unknown_tool(&name)).into()),
    }
}

/// Why a tool cannot be called with these arguments.
enum ArgumentError {
    Invalid(RpcError),
    Mismatch(SchemaMismatch),
    /// Validation takes too long, or the plugin cannot be called now.
    Stopped(CallError),
}

/// Maximum number of values in the arguments. A parsed value takes a hundred bytes or more, however short its text is.
const MAX_VALUES: usize = 250_000;

/// Whether arguments have too many values. It counts separators in the text without parsing it.
fn has_too_many_values(args: &str) -> bool {
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
    values > MAX_VALUES
}

/// Up to this many bytes of arguments and schema together, arguments with nulls are validated at once. To find out
/// which nulls stand for absent values, the schema is parsed again and traversed, which takes far longer per byte than
/// validation.
const SHORT: usize = 4 << 10;

/// Whether all steps before validation are fast for these arguments. `work` is the cost of reading all parameters.
fn is_short(args: &str, work: usize, schema: &str) -> bool {
    let is_small = args.len().min(work) <= SMALL && schema.len() <= SMALL;
    is_small && (args.len() + schema.len() <= SHORT || !args.contains("null"))
}

/// Parses arguments.
fn parse(args: &str) -> Result<Value, ArgumentError> {
    let invalid = |why: &str| ArgumentError::Invalid(RpcError::invalid_params(why));
    let value =
        json::value(args).map_err(|error| invalid(&format!("`params.arguments`: {}", reason(&error))))?;
    if !value.is_object() {
        return Err(invalid("`params.arguments` must be an object"));
    }
    Ok(value)
}

/// Like [`parse`], for arguments that may have too many values. Short arguments cannot.
fn parse_long(args: &str) -> Result<Value, ArgumentError> {
    if has_too_many_values(args) {
        let why = format!("`params.arguments` has more than {MAX_VALUES} values");
        return Err(ArgumentError::Invalid(RpcError::invalid_params(&why)));
    }
    parse(args)
}

/// Validates arguments: at once if that is fast, and otherwise as offloaded work of the plugin. Returns the text for
/// the tool, and the admitted call if validation needed one.
async fn check<'c>(
    tool: &Arc<PublishedTool>,
    context: &'c Arc<RequestContext>,
    charge: Option<&Arc<CallCharge>>,
) -> Result<(Cow<'c, str>, Option<AdmittedCall>), ArgumentError> {
    let params = &context.request.params;
    let args = arguments(params);
    let as_written = |without_nulls: Option<String>| without_nulls.map_or(Cow::Borrowed(args), Cow::Owned);
    if is_short(args, params.work(), tool.input.text().get()) {
        let mut value = parse(args)?;
        let without_nulls = tool.input.remove_nulls(args, &mut value, None);
        if let Some(checked) = tool.input.validate_if_short(&value, args.len()) {
            return checked.map(|()| (as_written(without_nulls), None)).map_err(ArgumentError::Mismatch);
        }
    }
    let (validated_tool, validated_call) = (Arc::clone(tool), Arc::clone(context));
    let work = move |budget: &WorkBudget| -> Result<_, WorkStopped> {
        let text = arguments(&validated_call.request.params);
        // Parsed inside this work, because a value may take thirty times the memory of its text, and long to drop.
        let mut value = match parse_long(text) {
            Ok(value) => value,
            Err(error) => return Ok(Err(error)),
        };
        // The budget is renewed, because the client and not the schema determines how long parsing takes.
        let budget = budget.renewed();
        let without_nulls = validated_tool.input.remove_nulls(text, &mut value, Some(&budget));
        budget.check()?;
        let bytes = without_nulls.as_ref().map_or(text.len(), String::len);
        let fits = validated_tool.input.validate(&value, bytes, &budget)?;
        Ok(fits.map(|()| without_nulls).map_err(ArgumentError::Mismatch))
    };
    let caller = (&context.caller, charge);
    let validation = tool.plugin.validate_arguments(&tool.own_name, args, caller, work);
    let (checked, admitted) = validation.await.map_err(ArgumentError::Stopped)?;
    checked.map(|without_nulls| (as_written(without_nulls), Some(admitted)))
}

async fn finish(
    server: &Server,
    context: &RequestContext,
    tool: &Arc<PublishedTool>,
    result: &ToolResult,
    record: &mut AuditRecord,
) -> Result<EncodedResult, RpcError> {
    let offload = tool.plugin.offload();
    let _reservation = run_guest_call::reserve_result(server, context, record.bytes_out())?;
    let bytes = ResultView::work(result);
    // The client may cancel the call until the result is written, even while this function waits for a permit.
    let unchecked = record.checking();
    let links = HiddenLinks::of(server, &context.caller, result.content.iter());
    let work = bytes.saturating_add(links.work());
    let granted = &tool.plugin.config().grants.ui;
    let read =
        move || ResultView::new(result, granted).map(|view| view.without_resources(|uri| links.hide(uri)));
    let view = match offload.in_place(work, read).await {
        Ok(view) => check_output(tool, &view, record).await.map(|()| view),
        Err(fault) => Err(ResultError::Contract(fault)),
    };
    match view {
        Ok(view) => {
            if let Some(trace) = context.trace.as_ref().filter(|_| view.is_error()) {
                trace.tool_failed();
            }
            let write = || EncodedResult::new(&view, context.revision, &server.info);
            let written = offload.in_place(bytes, write).await;
            record.checked(unchecked);
            written
        }
        Err(ResultError::Contract(fault)) => {
            run_guest_call::record_invalid_result(record, &tool.plugin, &tool.name, &fault);
            let fault = tool.plugin.redactor().text(&fault);
            error_result(server, context, format!("the tool returned an invalid result: {fault}"))
        }
        Err(ResultError::Limit(failure)) => error_result(server, context, failure.to_string()),
    }
}

/// Why a result is not sent to the client.
enum ResultError {
    Contract(String),
    Limit(CallError),
}

/// Validates structured content against the tool's output schema: at once if that is fast, and otherwise as a part of
/// the call, with the processor time that the guest has left.
async fn check_output(
    tool: &Arc<PublishedTool>,
    view: &ResultView<'_>,
    record: &mut AuditRecord,
) -> Result<(), ResultError> {
    if let Some(matched) = tool.matches_output_schema_if_short(view.structured(), view.is_error()) {
        return matched.map_err(ResultError::Contract);
    }
    let (structured, is_error) = (view.structured().map(ToOwned::to_owned), view.is_error());
    let limits = &tool.plugin.config().limits;
    let left = limits.cpu_time().saturating_sub(record.usage().cpu);
    let validated_tool = Arc::clone(tool);
    let work = move |budget: &WorkBudget| -> Result<_, WorkStopped> {
        let matched = validated_tool.matches_output_schema(structured.as_deref(), is_error, budget)?;
        // Validation that took too long is an error even if it has ended.
        budget.check().map(|()| matched)
    };
    match tool.plugin.offload().run_counted(left, record.validation_time(), work).await {
        Ok(matched) => matched.map_err(ResultError::Contract),
        Err(WorkStopped::Cpu | WorkStopped::Abandoned) => {
            let failure = CallError::limit(limits, "cpu_ms");
            record.exceeded(&failure);
            tracing::warn!(target: "plugin", plugin = tool.plugin.name(), "validating a result: {failure}");
            Err(ResultError::Limit(failure))
        }
    }
}

/// Makes a tool result with an error text for the model.
fn error_result(server: &Server, context: &RequestContext, text: String) -> Result<EncodedResult, RpcError> {
    if let Some(trace) = &context.trace {
        trace.tool_failed();
    }
    EncodedResult::new(&ResultView::error(text), context.revision, &server.info)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::json_work;

    #[test]
    fn nulls_are_left_out_at_once_where_arguments_and_schema_are_short_together() {
        let (null, text) = (r#"{"a":null}"#, r#"{"a":"nul"}"#);
        let long = |args: &str, length: usize| format!("{args}{}", " ".repeat(length - args.len()));
        let is_short = |args: &str, schema: &str| is_short(args, json_work(args.as_bytes()), schema);
        assert!(is_short(null, &long("{}", SHORT - null.len())));
        assert!(!is_short(null, &long("{}", SHORT)) && !is_short(&long(null, SHORT), "{}"));
        assert!(is_short(&long(text, SMALL), &long("{}", SMALL)));
        assert!(is_short(&long(text, SMALL + 1), "{}") && !is_short(text, &long("{}", SMALL + 1)));
        assert!(!is_short(&"[".repeat(SMALL + 1), "{}"));
    }

    #[test]
    fn arguments_that_are_not_what_they_look_like_are_rejected() {
        let disguised = r#"{"$serde_json::private::RawValue":"{\"a\":1}"}"#;
        assert!(parse(r#"{"a":1}"#).is_ok() && parse(disguised).is_err());
    }

    #[test]
    fn values_are_counted_by_what_separates_them_and_not_in_texts() {
        assert!(has_too_many_values(&format!("[{}1]", "1,".repeat(MAX_VALUES))));
        assert!(has_too_many_values(&format!("[{}", r#"{"":0},"#.repeat(MAX_VALUES / 2 + 1))));
        let quoted = serde_json::json!({ "text": ",[{\\\"".repeat(MAX_VALUES) }).to_string();
        assert!(!has_too_many_values(&quoted));
        assert!(!has_too_many_values(&format!("[{}1]", "1,".repeat(MAX_VALUES / 2))));
    }
}
