//! A plugin's listing: what its `list-*` functions return, all asked for in one instance.
//!
//! The lists of one moment belong together, and an instance costs more than a list, so all are asked for at once: at
//! load, and again when the plugin says that something changed.

use wasmtime::Store;
use wasmtime::component::Instance;

use super::guest_call::{CallInfo, CallKind, GuestCall, GuestResult, ResultSize, instantiate};
use super::{CallError, Plugin, Prompt, ResourceDescriptor, ResourceTemplate, Tool};
use crate::capability::InstanceCtx;
use crate::host::Caller;

/// What a plugin says it has, in its own order, not yet vetted.
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
            name: "",
            arguments: "".into(),
            caller: Caller::Server,
            is_admitted: false,
        }
    }

    async fn invoke(self, plugin: &Plugin, store: &mut Store<InstanceCtx>) -> GuestResult<Listing> {
        // A change announced while listing is in the list already, and would only make the host list again.
        store.data_mut().ignore_changes();
        let instance = instantiate(plugin, store).await?;
        let mut listing = Listing::default();
        if let Some(functions) = &plugin.exports.functions {
            // Its types have said everything, and it is known to start now.
            listing.tools = functions.tools();
            return Ok(Ok(listing));
        }
        let listed = list_tools(plugin, store, &instance, &mut listing).await?;
        let Ok(()) = listed else { return Ok(listed.map(|()| listing)) };
        let listed = list_resources(plugin, store, &instance, &mut listing).await?;
        let Ok(()) = listed else { return Ok(listed.map(|()| listing)) };
        let listed = list_prompts(plugin, store, &instance, &mut listing).await?;
        Ok(listed.map(|()| listing))
    }

    /// Validation has limits of its own for what is listed.
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
    let Some(indices) = &plugin.exports.tools else { return Ok(Ok(())) };
    let listed = indices.load(&mut *store, instance)?.call_list_tools(store).await?;
    Ok(listed.map(|tools| listing.tools = tools))
}

async fn list_resources(
    plugin: &Plugin,
    store: &mut Store<InstanceCtx>,
    instance: &Instance,
    listing: &mut Listing,
) -> GuestResult<()> {
    let Some(indices) = &plugin.exports.resources else { return Ok(Ok(())) };
    let guest = indices.load(&mut *store, instance)?;
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
    let Some(indices) = &plugin.exports.prompts else { return Ok(Ok(())) };
    let listed = indices.load(&mut *store, instance)?.call_list_prompts(store).await?;
    Ok(listed.map(|prompts| listing.prompts = prompts))
}

impl Plugin {
    /// Asks the component for everything it lists, within the time for starting.
    ///
    /// # Errors
    /// When it answers with an error, breaks a limit, or no permit for the call is free.
    pub async fn list(&self) -> Result<Listing, CallError> {
        self.call_guest_at_startup(List).await.outcome
    }
}
