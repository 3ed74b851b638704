//! `plugport:plugin/roots`: asks the client which folders its user works in. Where the operator lets a guest read them, they
//! are asked for before it starts, and it finds them among its directories.

use std::sync::Arc;

use serde::Deserialize;
use wasmtime::component::Resource;

use super::grant::RootError;
use crate::bindings::plugport::plugin::roots::{Host, Root};
use crate::bindings::plugport::plugin::types::Error;
use crate::capability::filesystem::LocalRoot;
use crate::capability::{Call, HostCallError, InstanceCtx};
use crate::config::RootsGrant;
use crate::host::{Client, ClientRequestBody};

/// Longest list of roots that is read, bytes. Clients have a handful, and whoever sends a long one has it read on a
/// thread that serves others.
const LIST: usize = 256 << 10;

/// Longest URI of a client that is repeated to the operator, bytes.
const SHOWN: usize = 4 << 10;

#[derive(Deserialize)]
struct RootList {
    roots: Vec<RootEntry>,
}

#[derive(Deserialize)]
struct RootEntry {
    uri: String,
    #[serde(default)]
    name: Option<String>,
}

impl Host for InstanceCtx {
    async fn list_roots(
        &mut self,
        call: Resource<Call>,
        key: Option<String>,
    ) -> Result<Vec<Root>, HostCallError> {
        let answer = self
            .send_client_request(call, key, ClientRequestBody::ListRoots, |state, _| check(state))
            .await?;
        let listed = parse_roots(&answer).map_err(Error::Internal)?;
        Ok(listed.roots.into_iter().map(|RootEntry { uri, name }| Root { uri, name }).collect())
    }
}

/// Whether the plugin may ask.
pub(in crate::capability) fn check(state: &mut InstanceCtx) -> Result<(), Error> {
    if state.plugin.config.grants.roots.list { Ok(()) } else { Err(state.deny_request("roots")) }
}

/// Reads what a client answered.
fn parse_roots(answer: &str) -> Result<RootList, String> {
    if answer.len() > LIST {
        return Err(format!("the client's list of roots has more than {} KiB", LIST >> 10));
    }
    serde_json::from_str(answer).map_err(|error| format!("the client's roots cannot be read: {error}"))
}

/// Judges a folder that a client names and opens it. Blocks.
fn open_root(grant: &RootsGrant, uri: &str) -> Result<LocalRoot, RootError> {
    LocalRoot::open(&grant.resolve(uri)?).map_err(|_| RootError::NotAFolder)
}

impl InstanceCtx {
    /// Opens the roots of a client on this machine, as far as the operator lets the guest read them.
    ///
    /// # Errors
    /// Never for what a client says; when the host fails.
    pub(crate) async fn open_roots(&mut self, client: &Arc<dyn Client>) -> wasmtime::Result<()> {
        let grant = &self.plugin.config.grants.roots;
        if !grant.may_read() {
            return Ok(());
        }
        let grant = grant.clone();
        let waiting = self.waiting.clone();
        let Some(answer) = waiting.suspend_while(client.local_roots()).await else { return Ok(()) };
        let roots = match parse_roots(&answer) {
            Ok(listed) => listed.roots,
            Err(why) => {
                self.logs.host_line(&why);
                Vec::new()
            }
        };
        let judge =
            move || RootsGrant::first(roots).map(|root| (open_root(&grant, &root.uri), root)).collect();
        let judged: Vec<_> = tokio::task::spawn_blocking(judge).await?;
        for (opened, root) in judged {
            match opened {
                Ok(opened) => self.capabilities.filesystem.add_root(opened),
                Err(RootError::Outside(path)) => {
                    let allow = format!("roots = {{ read = [{path:?}] }}");
                    let uri = self.logs.shown(&root.uri, SHOWN).into_owned();
                    self.deny(&format!("reading the client's root {uri}"), &allow);
                }
                Err(refusal) => {
                    self.logs.host_line(&format!("the client's root {} was not opened: {refusal}", root.uri))
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_roots_is_read_unless_it_is_endless() {
        let list = |count| format!(r#"{{"roots":[{}]}}"#, vec![r#"{"uri":"file:///a"}"#; count].join(","));
        assert_eq!(parse_roots(&list(3)).unwrap().roots.len(), 3);
        assert!(parse_roots(&list(20_000)).err().unwrap().contains("256 KiB"));
        assert!(parse_roots("{}").is_err());
    }
}
