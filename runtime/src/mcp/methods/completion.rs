//! `completion/complete`.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;

use serde::Deserialize;

use super::super::catalog_view::CatalogView;
use super::super::error::RpcError;
use super::super::params::Params;
use super::super::request_context::RequestContext;
use super::super::result_writer::EncodedResult;
use super::super::server::Server;
use super::super::wire::CompletionView;
use super::error_mapping::map_error;
use super::item_access::{self, AllowingRoles};
use super::quotas::{self, CalledItem};
use super::string_arguments::StringMap;
use super::{read, run_guest_call};
use crate::call_env::Caller;
use crate::plugin::{CallKind, Completion, CompletionTarget, PartialArgument, Plugin};

/// The name of the method in the audit.
const FUNCTION: &str = "completion/complete";

#[derive(Deserialize)]
struct CompleteParams<'a> {
    #[serde(rename = "ref", borrow)]
    reference: Reference<'a>,
    #[serde(borrow)]
    argument: Argument<'a>,
    #[serde(default)]
    context: Option<ResolvedArguments>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Reference<'a> {
    #[serde(rename = "ref/prompt")]
    Prompt {
        #[serde(borrow)]
        name: Cow<'a, str>,
    },
    #[serde(rename = "ref/resource")]
    Resource {
        #[serde(borrow)]
        uri: Cow<'a, str>,
    },
}

#[derive(Deserialize)]
struct Argument<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    value: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
struct ResolvedArguments {
    #[serde(default)]
    arguments: Option<StringMap>,
}

/// Suggests values for an argument. `None` when the client cancelled the request.
pub(in super::super) async fn complete(
    server: &Server,
    view: CatalogView,
    context: &Arc<RequestContext>,
    params: &Params,
) -> Option<Result<EncodedResult, RpcError>> {
    let bytes = params.len();
    let params: CompleteParams<'_> = match server.reading().in_place(bytes, || read(params)).await {
        Ok(params) => params,
        Err(error) => return Some(Err(error)),
    };
    let resolved = resolve(&view, &context.caller, &params.reference);
    drop(view);
    let (plugin, target, roles) = match resolved {
        Ok(resolved) => resolved,
        Err(error) => return Some(Err(error)),
    };
    if !plugin.completes() {
        let none = Completion { values: Vec::new(), total: Some(0), has_more: false };
        return Some(finish(server, context, &none));
    }
    let known = params.context.unwrap_or_default().arguments.unwrap_or_default().0;
    let Argument { name, value } = &params.argument;
    let partial = PartialArgument { target: &target, argument: name, value, context: &known };
    let called = CalledItem { plugin: &plugin, kind: CallKind::Complete, name, bytes_in: value.len() };
    let allowed = match quotas::admit(server, context, roles, called).await {
        Ok(allowed) => allowed,
        Err(over) => return Some(Err(RpcError::over_quota(&over))),
    };
    let client = run_guest_call::client(server, context, &plugin, allowed);
    let call = pin!(plugin.complete(partial, client));
    let called = run_guest_call::run(context, name, call).await?;
    Some(match called.outcome {
        Ok(completion) => {
            let bytes = called.record.bytes_out();
            plugin.offload().in_place(bytes, || finish(server, context, &completion)).await
        }
        Err(failure) => {
            Err(map_error(failure, context.revision, "completion", || unknown(&params.reference)))
        }
    })
}

/// Finds the plugin of a reference, the reference under the plugin's own name, and the roles that allow completing it.
fn resolve(
    view: &CatalogView,
    caller: &Caller,
    reference: &Reference<'_>,
) -> Result<(Arc<Plugin>, CompletionTarget, AllowingRoles), RpcError> {
    let unknown = || unknown(reference);
    let (checked, resolved) = match reference {
        Reference::Prompt { name } => {
            let prompt = view.snapshot.prompt(name).ok_or_else(unknown)?;
            let target = CompletionTarget::Prompt(prompt.prompt.name.clone());
            (item_access::check_prompt(view, caller, prompt, (FUNCTION, None)), (&prompt.plugin, target))
        }
        Reference::Resource { uri } => {
            let plugin = view.snapshot.plugin_for_ref(uri).ok_or_else(unknown)?;
            let target = CompletionTarget::ResourceUri(uri.clone().into_owned());
            let template = view.snapshot.route_uri(uri).and_then(|(_, template)| template);
            let checked = item_access::check_uri(view, caller, plugin, (FUNCTION, &**uri), template.as_ref());
            (checked, (plugin, target))
        }
    };
    let roles = checked.map_err(|error| error.into_rpc(unknown))?;
    let (plugin, target) = resolved;
    Ok((Arc::clone(plugin), target, roles))
}

fn unknown(reference: &Reference<'_>) -> RpcError {
    match reference {
        Reference::Prompt { name } => RpcError::unknown_prompt(name),
        Reference::Resource { uri } => {
            RpcError::invalid_params(&format!("no resource or template is called {uri}"))
        }
    }
}

fn finish(
    server: &Server,
    context: &RequestContext,
    completion: &Completion,
) -> Result<EncodedResult, RpcError> {
    EncodedResult::new(&CompletionView::new(completion), context.revision, &server.info)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &str) -> Result<String, i64> {
        let raw = Params::from(text);
        let params: CompleteParams<'_> = read(&raw).map_err(|error| error.code)?;
        let known = params.context.unwrap_or_default().arguments.unwrap_or_default().0.len();
        let reference = match params.reference {
            Reference::Prompt { name } => name.into_owned(),
            Reference::Resource { uri } => uri.into_owned(),
        };
        Ok(format!("{reference} {}={} {known}", params.argument.name, params.argument.value))
    }

    #[test]
    fn references_are_prompts_or_resources() {
        let prompt = r#"{"ref":{"type":"ref/prompt","name":"p-ask","title":"x"},"argument":{"name":"a","value":"\u00e9"}}"#;
        assert_eq!(params(prompt).as_deref(), Ok("p-ask a=é 0"));
        let resource = r#"{"argument":{"name":"a","value":""},"context":{"arguments":{"b":"1"}},"ref":{"uri":"n:{a}","type":"ref/resource"}}"#;
        assert_eq!(params(resource).as_deref(), Ok("n:{a} a= 1"));
        for bad in [
            r#"{"ref":{"type":"ref/tool","name":"a"},"argument":{"name":"a","value":""}}"#,
            r#"{"ref":{"type":"ref/prompt"},"argument":{"name":"a","value":""}}"#,
            r#"{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"a","value":1}}"#,
            r#"{"ref":{"type":"ref/prompt","name":"a"}}"#,
        ] {
            assert_eq!(params(bad), Err(-32602), "{bad}");
        }
    }

    #[test]
    fn a_reference_to_nothing_is_invalid() {
        let snapshot = Arc::new(crate::catalog::Snapshot::new(Vec::new()));
        let nothing = CatalogView { snapshot, is_complete: true, access: None };
        let prompt = Reference::Prompt { name: "p-x".into() };
        assert_eq!(resolve(&nothing, &Caller::Stdio, &prompt).err().map(|error| error.code), Some(-32602));
        let resource = Reference::Resource { uri: "n:x".into() };
        assert_eq!(resolve(&nothing, &Caller::Stdio, &resource).err().map(|error| error.code), Some(-32602));
    }
}
