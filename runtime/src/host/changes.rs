//! `plugport:plugin/changes`. Lists are fixed while the server runs, so a guest's word of a change is noted for the
//! operator and nothing is listed again.

use crate::bindings::plugport::plugin::changes::{Host, Listing};

use super::State;

impl Host for State {
    async fn list_changed(&mut self, listing: Listing) -> wasmtime::Result<()> {
        self.meter.charge(0).await?;
        self.logs.note(&format!("says its {} changed; restart the server to list them again", name(listing)));
        Ok(())
    }

    async fn resource_updated(&mut self, uri: String) -> wasmtime::Result<()> {
        self.meter.charge(uri.len()).await?;
        self.logs.note(&format!("says the resource {uri} was updated; nothing is subscribed to it"));
        Ok(())
    }
}

fn name(listing: Listing) -> &'static str {
    match listing {
        Listing::Tools => "tools",
        Listing::Resources => "resources",
        Listing::Prompts => "prompts",
    }
}
