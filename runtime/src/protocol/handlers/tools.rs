//! `tools/call`.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::context::RequestContext;
use super::super::error::RpcError;
use super::super::field::reason;
use super::super::reply::Reply;
use super::super::server::Server;
use super::super::wire::ResultView;
use super::failures::{Answer, answer};
use super::{read, running};
use crate::catalog::{Mismatch, PublishedTool};
use crate::plugin::{Called, Record, ToolResult};

/// What is checked without leaving the task, bytes.
const SMALL: usize = 64 << 10;

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// Calls a tool. `None` when the client withdrew the request.
pub(in super::super) async fn call(
    server: &Server,
    context: &Arc<RequestContext>,
    params: Option<&RawValue>,
) -> Option<Result<Reply, RpcError>> {
    let (tool, args) = match prepare(server, params) {
        Ok(prepared) => prepared,
        Err(error) => return Some(Err(error)),
    };
    if let Err(mismatch) = validate(&tool, args.value, args.text.len()).await {
        let told = format!("the arguments do not fit the tool's schema: {mismatch}");
        return Some(tell(server, context, told));
    }
    let port = running::port(context, &tool.plugin);
    let call = tool.plugin.call_tool(&tool.tool.name, &args.text, port);
    let Called { outcome, mut record } = running::run(context, &tool.name, call).await?;
    Some(match outcome {
        Ok(result) => finish(server, context, &tool, &result, &mut record).await,
        Err(failure) => match answer(failure, &tool.name, context.revision) {
            Answer::Told(text) => tell(server, context, text),
            Answer::Refused(error) => Err(error),
        },
    })
}

struct Arguments {
    text: String,
    value: Value,
}

fn prepare(server: &Server, params: Option<&RawValue>) -> Result<(Arc<PublishedTool>, Arguments), RpcError> {
    let params: CallParams<'_> = read(params)?;
    let snapshot = server.catalog.current();
    let tool = snapshot.tool(&params.name).ok_or_else(|| RpcError::unknown_tool(&params.name))?;
    let text = params.arguments.map_or("{}", RawValue::get);
    let mut value: Value = serde_json::from_str(text)
        .map_err(|error| RpcError::invalid_params(&format!("`params.arguments`: {}", reason(&error))))?;
    if !value.is_object() {
        return Err(RpcError::invalid_params("`params.arguments` must be an object"));
    }
    let text = tool.input.leave_out_nulls(text, &mut value).unwrap_or_else(|| text.to_owned());
    Ok((Arc::clone(tool), Arguments { text, value }))
}

async fn finish(
    server: &Server,
    context: &RequestContext,
    tool: &Arc<PublishedTool>,
    result: &ToolResult,
    record: &mut Record,
) -> Result<Reply, RpcError> {
    let view = match ResultView::new(result) {
        Ok(view) => keeps_promise(tool, &view).await.map(|()| view),
        Err(fault) => Err(fault),
    };
    match view {
        Ok(view) => Reply::new(&view, context.revision, &server.info),
        Err(fault) => {
            running::note_breach(record, &tool.plugin, &tool.name, &fault);
            tell(server, context, format!("the tool broke its contract: {fault}"))
        }
    }
}

async fn validate(tool: &Arc<PublishedTool>, value: Value, bytes: usize) -> Result<(), Mismatch> {
    let tool = Arc::clone(tool);
    let alone = tool.input.has_references();
    check(bytes, alone, move || tool.input.validate(&value, bytes)).await
}

async fn keeps_promise(tool: &Arc<PublishedTool>, view: &ResultView<'_>) -> Result<(), String> {
    let Some(schema) = &tool.output else { return Ok(()) };
    let alone = schema.has_references();
    let structured = view.structured().map(ToOwned::to_owned);
    let (tool, failed) = (Arc::clone(tool), view.is_error());
    let bytes = structured.as_ref().map_or(0, |text| text.get().len());
    check(bytes, alone, move || tool.keeps_promise(structured.as_deref(), failed)).await
}

/// Checks something of `bytes` bytes: at once when that is sure to be short, else where it holds up nobody.
async fn check<E: Send + 'static>(
    bytes: usize,
    alone: bool,
    work: impl FnOnce() -> Result<(), E> + Send + 'static,
) -> Result<(), E> {
    if bytes <= SMALL && !alone {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(panicked) => std::panic::resume_unwind(Box::new(panicked)),
    }
}

/// A tool result that says what went wrong, for the model to read.
fn tell(server: &Server, context: &RequestContext, text: String) -> Result<Reply, RpcError> {
    Reply::new(&ResultView::error(text), context.revision, &server.info)
}
