//! Everything that a plugin offers, asked for in one instance.
//!
//! The lists of one moment belong together, and an instance costs more than a list, so all are asked for at once: at load,
//! and again when the plugin says that something changed.

use wasmtime::Store;
use wasmtime::component::Instance;

use super::errand::{Ended, Errand, Function, Job, Weight, instantiate};
use super::{CallFailure, Plugin, Prompt, ResourceDescriptor, ResourceTemplate, Tool};
use crate::host::{Caller, State};

/// What a plugin says it has, in its own order, not yet vetted.
#[derive(Debug, Default)]
pub struct Offer {
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

impl Errand for List {
    type Answer = Offer;

    fn job(&self) -> Job<'_> {
        Job {
            function: Function::List,
            name: "",
            arguments: "".into(),
            caller: Caller::Server,
            is_admitted: false,
        }
    }

    async fn enter(self, plugin: &Plugin, store: &mut Store<State>) -> Ended<Offer> {
        // A change announced while listing is in the list already, and would only make the host list again.
        store.data_mut().ignore_changes();
        let instance = instantiate(plugin, store).await?;
        let mut offer = Offer::default();
        if let Some(plain) = &plugin.exports.plain {
            // Its types have said everything, and it is known to start now.
            offer.tools = plain.tools();
            return Ok(Ok(offer));
        }
        let listed = list_tools(plugin, store, &instance, &mut offer).await?;
        let Ok(()) = listed else { return Ok(listed.map(|()| offer)) };
        let listed = list_resources(plugin, store, &instance, &mut offer).await?;
        let Ok(()) = listed else { return Ok(listed.map(|()| offer)) };
        let listed = list_prompts(plugin, store, &instance, &mut offer).await?;
        Ok(listed.map(|()| offer))
    }

    /// Vetting has limits of its own for what is listed.
    fn weigh(_: &Offer) -> Weight {
        Weight::default()
    }
}

async fn list_tools(
    plugin: &Plugin,
    store: &mut Store<State>,
    instance: &Instance,
    offer: &mut Offer,
) -> Ended<()> {
    let Some(indices) = &plugin.exports.tools else { return Ok(Ok(())) };
    let listed = indices.load(&mut *store, instance)?.call_list_tools(store).await?;
    Ok(listed.map(|tools| offer.tools = tools))
}

async fn list_resources(
    plugin: &Plugin,
    store: &mut Store<State>,
    instance: &Instance,
    offer: &mut Offer,
) -> Ended<()> {
    let Some(indices) = &plugin.exports.resources else { return Ok(Ok(())) };
    let guest = indices.load(&mut *store, instance)?;
    match guest.call_list_resources(&mut *store).await? {
        Ok(resources) => offer.resources = resources,
        Err(error) => return Ok(Err(error)),
    }
    let listed = guest.call_list_resource_templates(store).await?;
    Ok(listed.map(|templates| offer.templates = templates))
}

async fn list_prompts(
    plugin: &Plugin,
    store: &mut Store<State>,
    instance: &Instance,
    offer: &mut Offer,
) -> Ended<()> {
    let Some(indices) = &plugin.exports.prompts else { return Ok(Ok(())) };
    let listed = indices.load(&mut *store, instance)?.call_list_prompts(store).await?;
    Ok(listed.map(|prompts| offer.prompts = prompts))
}

impl Plugin {
    /// Asks the component for everything it offers, within the time for starting.
    ///
    /// # Errors
    /// When it answers with an error, breaks a limit, or no place for the call is free.
    pub async fn list(&self) -> Result<Offer, CallFailure> {
        self.serve_starting(List).await.outcome
    }
}
