//! `tools/list` and `tools/call`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::ser::SerializeMap;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::context::RequestContext;
use super::super::error::RpcError;
use super::super::port::Port;
use super::super::reply::{Fields, Reply};
use super::super::revision::Revision;
use super::super::server::Server;
use super::super::wire::{ResultView, ToolViews};
use super::failures::{Answer, answer};
use super::read;
use crate::catalog::{Mismatch, Page, PublishedTool};
use crate::observe::Escaped;
use crate::plugin::{Called, ToolResult};

/// How long clients may keep a list. Lists change only when the server restarts, which a client of a stateless
/// revision cannot notice otherwise.
const LIST_TTL_MS: u64 = 10_000;

/// What is checked without leaving the task, bytes.
const SMALL: usize = 64 << 10;

/// What a guest has left after its call was cancelled, to notice and to leave things tidy.
const CANCEL_GRACE: Duration = Duration::from_millis(100);

#[derive(Deserialize)]
struct ListParams<'a> {
    #[serde(borrow, default)]
    cursor: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

struct Listed<'a> {
    page: Page<'a, Arc<PublishedTool>>,
}

impl Fields for Listed<'_> {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        map.serialize_entry("tools", &ToolViews { tools: self.page.items, revision })?;
        if let Some(next) = &self.page.next {
            map.serialize_entry("nextCursor", next)?;
        }
        if revision.is_stateless() {
            map.serialize_entry("ttlMs", &LIST_TTL_MS)?;
            map.serialize_entry("cacheScope", "public")?;
        }
        Ok(())
    }
}

pub(in super::super) fn list(
    server: &Server,
    context: &RequestContext,
    params: Option<&RawValue>,
) -> Result<Reply, RpcError> {
    let params: ListParams<'_> = read(params)?;
    let snapshot = server.catalog.current();
    let list = snapshot.tools();
    let page = Page::at(params.cursor.as_deref(), list.items(), list.id(), server.settings.page_size)
        .map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    Reply::new(&Listed { page }, context.revision, &server.info)
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
    let called = run(context, &tool, &args.text).await?;
    tracing::debug!(
        tool = tool.name,
        ok = called.outcome.is_ok(),
        fuel = called.usage.fuel,
        elapsed_us = called.usage.elapsed.as_micros(),
        "called"
    );
    Some(match called.outcome {
        Ok(result) => finish(server, context, &tool, &result).await,
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
    let value: Value = serde_json::from_str(text)
        .map_err(|error| RpcError::invalid_params(&format!("`arguments`: {error}")))?;
    if !value.is_object() {
        return Err(RpcError::invalid_params("`arguments` must be an object"));
    }
    Ok((Arc::clone(tool), Arguments { text: text.to_owned(), value }))
}

/// Runs the guest until it is done, or until the client has withdrawn the request and the grace is over.
async fn run(context: &Arc<RequestContext>, tool: &PublishedTool, args: &str) -> Option<Called<ToolResult>> {
    let port = Arc::new(Port::new(context, tool.plugin.name()));
    let withdrawn = async {
        context.cancel.cancelled().await;
        tokio::time::sleep(CANCEL_GRACE).await;
    };
    tokio::select! {
        biased;
        called = tool.plugin.call_tool(&tool.tool.name, args, port) => {
            if context.cancel.is_cancelled() { None } else { Some(called) }
        }
        () = withdrawn => None,
    }
}

async fn finish(
    server: &Server,
    context: &RequestContext,
    tool: &Arc<PublishedTool>,
    result: &ToolResult,
) -> Result<Reply, RpcError> {
    let view = match ResultView::new(result) {
        Ok(view) => keeps_promise(tool, &view).await.map(|()| view),
        Err(fault) => Err(fault),
    };
    match view {
        Ok(view) => Reply::new(&view, context.revision, &server.info),
        Err(fault) => {
            let (plugin, name) = (tool.plugin.name(), tool.name.as_str());
            tracing::warn!(target: "plugin", plugin, tool = name, "broke its contract: {}", Escaped(&fault));
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
