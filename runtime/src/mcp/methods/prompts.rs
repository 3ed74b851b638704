//! `prompts/get`.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;

use super::super::catalog_view::CatalogView;
use super::super::error::RpcError;
use super::super::params::{Params, read};
use super::super::request_context::RequestContext;
use super::super::result_writer::EncodedResult;
use super::super::server::Server;
use super::super::wire::PromptView;
use super::error_mapping::map_error;
use super::hidden_items::HiddenLinks;
use super::item_access::{self, AllowingRoles};
use super::quotas::{self, CalledItem};
use super::run_guest_call;
use super::string_arguments::StringMap;
use crate::call_env::Caller;
use crate::catalog::PublishedPrompt;
use crate::plugin::{CallKind, FinishedCall, PromptArgument};

/// Fills in a prompt. `None` when the client cancelled the request.
pub(in super::super) async fn get(
    server: &Server,
    view: CatalogView,
    context: &Arc<RequestContext>,
    params: &Params,
) -> Option<Result<EncodedResult, RpcError>> {
    let bytes = params.len();
    let prepared = server.reading().in_place(bytes, || prepare(&view, &context.caller, params)).await;
    drop(view);
    let (published, args, roles) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Some(Err(error)),
    };
    if let Some(metrics) = &server.metrics {
        metrics.note_prompt(context, &published);
    }
    if let Some(trace) = &context.trace {
        trace.gets_prompt(&published.plugin, &published.name);
    }
    let plugin = &published.plugin;
    let (kind, name) = (CallKind::GetPrompt, published.prompt.name.as_str());
    let called = CalledItem { plugin, kind, name, bytes_in: bytes };
    let allowed = match quotas::admit(server, context, roles, called).await {
        Ok(allowed) => allowed,
        Err(over) => return Some(Err(RpcError::over_quota(&over))),
    };
    let client = run_guest_call::client(server, context, plugin, allowed);
    let call = pin!(plugin.get_prompt(&published.prompt.name, &args, client));
    let FinishedCall { outcome, mut record } = run_guest_call::run(context, &published.name, call).await?;
    Some(match outcome {
        Ok(result) => {
            let contents = result.messages.iter().map(|message| &message.content);
            let links = HiddenLinks::of(server, &context.caller, contents);
            let bytes = record.bytes_out().saturating_add(links.work());
            let write = || {
                PromptView::new(&result, &plugin.config().grants.ui)
                    .map(|view| view.without_resources(|uri| links.hide(uri)))
                    .map_err(|fault| {
                        run_guest_call::invalid_result_error(&mut record, plugin, &published.name, &fault)
                    })
                    .and_then(|view| EncodedResult::new(&view, context.revision, &server.info))
            };
            plugin.offload().in_place(bytes, write).await
        }
        Err(failure) => {
            Err(map_error(failure, context.revision, "prompt", || RpcError::unknown_prompt(&published.name)))
        }
    })
}

type Arguments = Vec<(String, String)>;

fn prepare(
    view: &CatalogView,
    caller: &Caller,
    params: &Params,
) -> Result<(Arc<PublishedPrompt>, Arguments, AllowingRoles), RpcError> {
    let name = params.name()?;
    let arguments =
        params.arguments().map(|json| read::<StringMap>(&"params.arguments", json)).transpose()?;
    let unknown = || RpcError::unknown_prompt(&name);
    let prompt = view.snapshot.prompt(&name).ok_or_else(unknown)?;
    let checked_arguments = ("prompts/get", Some(params.arguments().unwrap_or("{}")));
    let checked = item_access::check_prompt(view, caller, prompt, checked_arguments);
    let roles = checked.map_err(|error| error.into_rpc(unknown))?;
    let args = arguments.unwrap_or_default().0;
    match missing(&prompt.prompt.arguments, &args) {
        Some(name) => {
            Err(RpcError::invalid_params(&format!("the argument `{name}` is required and missing")))
        }
        None => Ok((Arc::clone(prompt), args, roles)),
    }
}

/// The first required argument that is missing.
fn missing<'p>(declared: &'p [PromptArgument], args: &[(String, String)]) -> Option<&'p str> {
    let present: HashSet<&str> = args.iter().map(|(name, _)| name.as_str()).collect();
    let required = declared.iter().filter(|argument| argument.required);
    required.map(|argument| argument.name.as_str()).find(|name| !present.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_required_argument_must_be_there() {
        let argument = |name: &str, required| PromptArgument {
            name: name.to_owned(),
            title: None,
            description: None,
            required,
        };
        let declared = [argument("a", false), argument("b", true)];
        let args = |name: &str| vec![(name.to_owned(), String::new())];
        assert_eq!(missing(&declared, &args("a")), Some("b"));
        assert_eq!(missing(&declared, &args("b")), None);
        assert_eq!(missing(&[], &args("z")), None);
    }
}
