//! The keys of one issuer: where its key set comes from (metadata, a URL or a file), and when it is read again.

mod key_file;
mod key_set;
mod public_key;

use std::sync::Arc;
use std::time::SystemTime;

use futures_util::FutureExt as _;

pub(super) use key_set::KeySet;
pub(super) use public_key::PublicKey;

use super::discovery::Discovery;
use super::fetch::{Fetch, FetchError, FetchRequest};
use super::remote_document::{Loaded, RemoteDocument, Unavailable};
use crate::config::{Endpoint, JwksSource, JwtAlgorithm};
use key_file::KeyFile;

/// The keys of one issuer.
#[derive(Debug)]
pub(super) enum IssuerKeys {
    /// Published by the issuer.
    Remote(RemoteDocument<KeySet>),
    /// In a file that the operator wrote.
    File(KeyFile),
}

impl IssuerKeys {
    /// Returns `None` if the issuer is configured without keys: its tokens are introspected.
    pub(super) fn new(
        issuer: &Arc<str>,
        source: &JwksSource,
        discovery: &Arc<Discovery>,
        fetcher: &Arc<dyn Fetch>,
    ) -> Option<Self> {
        let url = match source {
            JwksSource::None => return None,
            JwksSource::File(path) => return Some(Self::File(KeyFile::new(path.clone()))),
            JwksSource::Discover => None,
            JwksSource::Url(url) => Some(url.clone()),
        };
        let (discovery, fetcher) = (Arc::clone(discovery), Arc::clone(fetcher));
        let document = RemoteDocument::new(format!("the keys of {issuer}"), move |now| {
            let (url, discovery, fetcher) = (url.clone(), Arc::clone(&discovery), Arc::clone(&fetcher));
            async move { fetch(url, &discovery, &*fetcher, now).await }.boxed()
        });
        Some(Self::Remote(document))
    }

    /// Returns the keys. They are read again if no key has this `kid`, or, without a `kid`, if no key is for the
    /// algorithm. `issued` is when the token was issued, unverified.
    pub(super) async fn find(
        &self,
        kid: Option<&str>,
        algorithm: JwtAlgorithm,
        issued: Option<SystemTime>,
        now: SystemTime,
    ) -> Result<Arc<KeySet>, Unavailable> {
        match self {
            Self::Remote(document) => document.get(|keys| keys.has(kid, algorithm), issued, now).await,
            Self::File(file) => file.keys(now).await,
        }
    }
}

async fn fetch(
    url: Option<Endpoint>,
    discovery: &Discovery,
    fetcher: &dyn Fetch,
    now: SystemTime,
) -> Result<Loaded<KeySet>, FetchError> {
    let url = match url {
        Some(url) => url,
        None => {
            let metadata = discovery.metadata(now).await.map_err(|_| FetchError::NoMetadata)?;
            let missing = || FetchError::Document("its metadata has no `jwks_uri`".into());
            metadata.jwks.clone().ok_or_else(missing)?
        }
    };
    let fetched = fetcher.fetch(FetchRequest::get(url)).await?;
    let value =
        KeySet::parse(&fetched.body).map_err(|error| FetchError::Document(error.to_string().into()))?;
    Ok(Loaded { value, max_age: fetched.max_age })
}
