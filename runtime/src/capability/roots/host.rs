//! `plugport:plugin/roots`: asks the client which folders its user works in. Where the operator lets a guest read these
//! folders, the server asks for them before the guest starts, and the guest finds them among its directories.

use std::sync::Arc;

use serde::Deserialize;
use wasmtime::component::Resource;

use super::grant::RootError;
use crate::bindings::plugport::plugin::roots::{Host, Root};
use crate::bindings::plugport::plugin::types::Error;
use crate::call_env::{Client, ClientRequestBody, GrantHint};
use crate::capability::filesystem::LocalRoot;
use crate::capability::{Call, HostCallError, InstanceCtx};
use crate::config::RootsGrant;

/// Longest list of roots that is read, bytes. Clients have a handful of roots, and a list is read on a thread that
/// serves others too.
const MAX_LIST: usize = 256 << 10;

/// Longest URI of a client that is shown to the operator, bytes.
const MAX_SHOWN: usize = 4 << 10;

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
        let response = self
            .send_client_request(call, key, ClientRequestBody::ListRoots, |state, _| check(state))
            .await?;
        let listed = parse_roots(&response).map_err(Error::Internal)?;
        Ok(listed.roots.into_iter().map(|RootEntry { uri, name }| Root { uri, name }).collect())
    }
}

/// Whether the plugin may list the client's roots.
pub(in crate::capability) fn check(state: &mut InstanceCtx) -> Result<(), Error> {
    if state.plugin.config.grants.roots.list { Ok(()) } else { Err(state.deny_request("roots")) }
}

/// Parses a client's response to `roots/list`.
fn parse_roots(response: &str) -> Result<RootList, String> {
    if response.len() > MAX_LIST {
        return Err(format!("the client's list of roots has more than {} KiB", MAX_LIST >> 10));
    }
    serde_json::from_str(response).map_err(|error| format!("the client's roots cannot be read: {error}"))
}

/// Checks a root that a client names and opens it. Blocks.
fn open_root(grant: &RootsGrant, uri: &str) -> Result<LocalRoot, RootError> {
    LocalRoot::open(&grant.resolve(uri)?).map_err(|_| RootError::NotAFolder)
}

impl InstanceCtx {
    /// Opens the roots of a client on this machine, as far as the operator lets the guest read them.
    ///
    /// # Errors
    /// When the host fails. A wrong response of the client is no error.
    pub(crate) async fn open_roots(&mut self, client: &Arc<dyn Client>) -> wasmtime::Result<()> {
        let grant = &self.plugin.config.grants.roots;
        if !grant.may_read() {
            return Ok(());
        }
        let grant = grant.clone();
        let suspension = self.suspension.clone();
        let Some(response) = suspension.suspend_while(client.local_roots()).await else { return Ok(()) };
        let roots = match parse_roots(&response) {
            Ok(listed) => listed.roots,
            Err(why) => {
                self.logs().host_line(&why);
                Vec::new()
            }
        };
        let open_all =
            move || RootsGrant::first(roots).map(|root| (open_root(&grant, &root.uri), root)).collect();
        let results: Vec<_> = tokio::task::spawn_blocking(open_all).await?;
        for (opened, root) in results {
            match opened {
                Ok(opened) => self.capabilities.filesystem.add_root(opened),
                Err(RootError::Outside(path)) => {
                    let line = format!("roots = {{ read = [{path:?}] }}");
                    let hint = GrantHint::new(line, [format!("roots={}", path.display())]);
                    let uri = self.logs().shown(&root.uri, MAX_SHOWN).into_owned();
                    self.deny(&format!("reading the client's root {uri}"), hint);
                }
                Err(error) => {
                    self.logs().host_line(&format!("the client's root {} was not opened: {error}", root.uri))
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
