//! `plugport:plugin/roots`: asks the client which folders its user works in. Where the operator lets a guest read them, they
//! are asked for before it starts, and it finds them among its directories.

use std::sync::Arc;

use serde::Deserialize;
use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::roots::{Host, Root};
use crate::bindings::plugport::plugin::types::Error;

use super::client_port::{ClientPort, QuestionBody};
use super::filesystem::NearRoot;
use super::{Call, Failure, State};
use crate::config::{RootRefusal, RootsGrant};

#[derive(Deserialize)]
struct Listed {
    roots: Vec<Given>,
}

#[derive(Deserialize)]
struct Given {
    uri: String,
    #[serde(default)]
    name: Option<String>,
}

impl Host for State {
    async fn list_roots(&mut self, call: Resource<Call>, key: Option<String>) -> Result<Vec<Root>, Failure> {
        let answer = self.ask_one(call, key, QuestionBody::ListRoots).await?;
        let listed: Listed = serde_json::from_str(&answer)
            .map_err(|error| Error::Internal(format!("the client's roots cannot be read: {error}")))?;
        Ok(listed.roots.into_iter().map(|Given { uri, name }| Root { uri, name }).collect())
    }
}

impl State {
    /// Opens the roots of a client on this machine, as far as the operator lets the guest read them.
    ///
    /// # Errors
    /// Never for what a client says; when the host fails.
    pub(crate) async fn open_roots(&mut self, port: &Arc<dyn ClientPort>) -> wasmtime::Result<()> {
        let Some(grant) = self.shared.config.grants.read_roots.clone() else { return Ok(()) };
        let waiting = self.waiting.clone();
        let Some(answer) = waiting.outside(port.near_roots()).await else { return Ok(()) };
        let listed = serde_json::from_str::<Listed>(&answer);
        let roots = listed.map_or_else(|_| Vec::new(), |listed| listed.roots);
        let judge =
            move || RootsGrant::first(roots).map(|root| (NearRoot::open(&grant, &root.uri), root)).collect();
        let judged: Vec<_> = tokio::task::spawn_blocking(judge).await?;
        for (opened, root) in judged {
            match opened {
                Ok(opened) => self.files.add_root(opened),
                Err(RootRefusal::Outside(path)) => {
                    let allow = format!("roots = {{ read = [{path:?}] }}");
                    self.deny(&format!("reading the client's root {}", root.uri), &allow);
                }
                Err(refusal) => {
                    self.logs.note(&format!("the client's root {} was not opened: {refusal}", root.uri))
                }
            }
        }
        Ok(())
    }
}
