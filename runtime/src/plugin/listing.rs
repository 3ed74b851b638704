//! A plugin's listing: the results of its `list-*` functions, all called in one instance.
//!
//! An instance costs more than a list, and the lists should be of one moment. So all are read together, at load and
//! again when the plugin announces a change.

use std::borrow::Cow;

use wasmtime::Store;
use wasmtime::component::Instance;

use super::guest_call::{CallInfo, CallKind, GuestCall, GuestResult, ResultSize, instantiate};
use super::{CallError, Plugin, Prompt, ResourceDescriptor, ResourceTemplate, Tool};
use crate::call_env::Caller;
use crate::capability::InstanceCtx;

/// The items of a plugin, in its own order, not yet validated.
#[derive(Debug, Default)]
pub struct Listing {
    /// Its tools.
    pub tools: Vec<Tool>,
    /// Its resources.
    pub resources: Vec<ResourceDescriptor>,
    /// Its resource templates.
    pub templates: Vec<ResourceTemplate>,
    /// Its prompts.
    pub prompts: Vec<Prompt>,
}

struct List;

impl GuestCall for List {
    type Output = Listing;

    fn info(&self) -> CallInfo<'_> {
        CallInfo {
            kind: CallKind::List,
            name: "".into(),
            arguments: self.arguments(),
            caller: Caller::Server,
            roles: None,
            is_admitted: false,
            charge: None,
            trace: None,
            task: None,
        }
    }

    fn arguments(&self) -> Cow<'_, str> {
        "".into()
    }

    async fn invoke(self, plugin: &Plugin, store: &mut Store<InstanceCtx>) -> GuestResult<Listing> {
        // A change that the guest announces while it lists is in the list already, and must not cause another listing.
        store.data_mut().ignore_changes();
        let instance = instantiate(plugin, store).await?;
        let mut listing = Listing::default();
        if let Some(functions) = &plugin.exports.functions {
            // The tools follow from the types. The instance was made only to see that it starts.
            listing.tools = functions.tools();
            return Ok(Ok(listing));
        }
        if let Some(completions) = &plugin.exports.completions {
            // They are not listed. This checks their type.
            completions.indices.load(&mut *store, &instance)?;
        }
        let listed = list_tools(plugin, store, &instance, &mut listing).await?;
        let Ok(()) = listed else { return Ok(listed.map(|()| listing)) };
        let listed = list_resources(plugin, store, &instance, &mut listing).await?;
        let Ok(()) = listed else { return Ok(listed.map(|()| listing)) };
        let listed = list_prompts(plugin, store, &instance, &mut listing).await?;
        Ok(listed.map(|()| listing))
    }

    /// Zero, since validation has limits of its own for listings.
    fn result_size(_: &Listing) -> ResultSize {
        ResultSize::default()
    }
}

async fn list_tools(
    plugin: &Plugin,
    store: &mut Store<InstanceCtx>,
    instance: &Instance,
    listing: &mut Listing,
) -> GuestResult<()> {
    let Some(tools) = &plugin.exports.tools else { return Ok(Ok(())) };
    let listed = tools.indices.load(&mut *store, instance)?.call_list_tools(store).await?;
    Ok(listed.map(|tools| listing.tools = tools))
}

async fn list_resources(
    plugin: &Plugin,
    store: &mut Store<InstanceCtx>,
    instance: &Instance,
    listing: &mut Listing,
) -> GuestResult<()> {
    let Some(resources) = &plugin.exports.resources else { return Ok(Ok(())) };
    let guest = resources.indices.load(&mut *store, instance)?;
    match guest.call_list_resources(&mut *store).await? {
        Ok(resources) => listing.resources = resources,
        Err(error) => return Ok(Err(error)),
    }
    let listed = guest.call_list_resource_templates(store).await?;
    Ok(listed.map(|templates| listing.templates = templates))
}

async fn list_prompts(
    plugin: &Plugin,
    store: &mut Store<InstanceCtx>,
    instance: &Instance,
    listing: &mut Listing,
) -> GuestResult<()> {
    let Some(prompts) = &plugin.exports.prompts else { return Ok(Ok(())) };
    let listed = prompts.indices.load(&mut *store, instance)?.call_list_prompts(store).await?;
    Ok(listed.map(|prompts| listing.prompts = prompts))
}

impl Plugin {
    /// Calls the `list-*` functions, within the time for starting.
    ///
    /// # Errors
    /// When one returns an error or hits a limit, or no permit for the call is free.
    pub async fn list(&self) -> Result<Listing, CallError> {
        self.call_guest_at_startup(List).await.outcome
    }
}
