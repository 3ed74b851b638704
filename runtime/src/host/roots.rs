//! `plugport:plugin/roots`: asks the client which folders its user works in.

use serde::Deserialize;
use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::roots::{Host, Root};
use crate::bindings::plugport::plugin::types::Error;

use super::client_port::QuestionBody;
use super::{Call, Failure, State};

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
