//! Token introspection (RFC 7662): the issuer says whether a token is valid, and what its claims are.
//!
//! Every unknown token costs the issuer a request, and anybody can make up tokens. So at most [`MAX_REQUESTS`]
//! introspections of one issuer run at a time, and only one for the same token ([`TokenLocks`]). `Issuers` caches the
//! results for a while, and gives each client a share of the introspections. If the issuer does not answer in time, the
//! request fails with an error that says so.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use data_encoding::BASE64;
use http::HeaderValue;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, Semaphore};
use tokio::time::timeout;

use super::discovery::Discovery;
use super::error::TokenError;
use super::expiring_map::Digest;
use super::fetch::{Fetch, FetchError, FetchRequest, Fetched, FormBody};
use super::remote_document::Unavailable;
use super::strict_json;
use crate::config::OAuthClient;
use crate::observe::with_causes;

/// Maximum number of simultaneous requests to one issuer.
const MAX_REQUESTS: usize = 16;

/// Time-out of one introspection, including the wait for a permit.
pub(super) const TIMEOUT: Duration = Duration::from_secs(2);

/// After how long a client should try again when an introspection has failed.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Introspects the tokens of one issuer.
pub(super) struct Introspection {
    issuer: Arc<str>,
    client: OAuthClient,
    discovery: Arc<Discovery>,
    fetcher: Arc<dyn Fetch>,
    permits: Semaphore,
    has_failed: AtomicBool,
}

impl Introspection {
    pub(super) fn new(
        issuer: &Arc<str>,
        client: OAuthClient,
        discovery: &Arc<Discovery>,
        fetcher: &Arc<dyn Fetch>,
    ) -> Self {
        let (issuer, discovery, fetcher) = (Arc::clone(issuer), Arc::clone(discovery), Arc::clone(fetcher));
        let permits = Semaphore::new(MAX_REQUESTS);
        Self { issuer, client, discovery, fetcher, permits, has_failed: AtomicBool::new(false) }
    }

    /// Returns the claims of an active token.
    pub(super) async fn claims(&self, token: &str, now: SystemTime) -> Result<Value, TokenError> {
        let introspected = timeout(TIMEOUT, self.introspect(token, now)).await;
        let claims = introspected.unwrap_or(Err(FetchError::TimedOut)).and_then(|fetched| {
            strict_json::object(&fetched.body).map_err(|error| FetchError::Document(error.to_string().into()))
        });
        self.log(claims.as_ref().err());
        let claims = claims.map_err(|_| TokenError::Unavailable { retry_after: RETRY_AFTER })?;
        let is_active = claims.get("active") == Some(&Value::Bool(true));
        tracing::trace!(issuer = &*self.issuer, is_active, "introspected a token");
        if is_active { Ok(Value::Object(claims)) } else { Err(TokenError::Inactive) }
    }

    /// Logs the first failure of introspection and the first success after it, but not each request.
    fn log(&self, error: Option<&FetchError>) {
        let issuer = &*self.issuer;
        match (error, self.has_failed.swap(error.is_some(), Ordering::Relaxed)) {
            (Some(error), false) => {
                let error = with_causes(error);
                tracing::warn!(issuer, error, "tokens of an issuer cannot be introspected");
            }
            (None, true) => tracing::info!(issuer, "tokens of an issuer can be introspected again"),
            (Some(_), true) | (None, false) => {}
        }
    }

    async fn introspect(&self, token: &str, now: SystemTime) -> Result<Fetched, FetchError> {
        let metadata =
            self.discovery.metadata(now).await.map_err(|Unavailable { .. }| FetchError::NoMetadata)?;
        let missing = || FetchError::Document("its metadata has no `introspection_endpoint`".into());
        let endpoint = metadata.introspection.clone().ok_or_else(missing)?;
        // The semaphore is never closed.
        let _permit = self.permits.acquire().await.map_err(|_| FetchError::Stopped)?;
        let body = format!("token={}&token_type_hint=access_token", form_encoded(token));
        let form = FormBody { authorization: self.authorization(), body };
        self.fetcher.fetch(FetchRequest { endpoint, form: Some(form), timeout: TIMEOUT }).await
    }

    /// The credentials of this server as an OAuth client (RFC 6749, 2.3.1).
    fn authorization(&self) -> HeaderValue {
        let (id, secret) =
            (form_encoded(&self.client.client_id), form_encoded(self.client.secret.expose_secret()));
        let credentials = format!("Basic {}", BASE64.encode(format!("{id}:{secret}").as_bytes()));
        // Base64 is always a valid header value.
        let mut value =
            HeaderValue::from_str(&credentials).unwrap_or_else(|_| HeaderValue::from_static("Basic"));
        value.set_sensitive(true);
        value
    }
}

impl std::fmt::Debug for Introspection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Introspection").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// Encodes a text as `application/x-www-form-urlencoded`.
fn form_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => {
                encoded.push(char::from(byte))
            }
            b' ' => encoded.push('+'),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Lets requests with the same token introspect it one after another: the first asks the issuer, and the others find
/// the result in the cache. If a request is dropped, the next one gets the lock.
#[derive(Debug, Default)]
pub(super) struct TokenLocks(Mutex<HashMap<Digest, Arc<AsyncMutex<()>>>>);

/// The lock of one request on its token, which is released when this is dropped.
#[derive(Debug)]
pub(super) struct TokenLock<'t> {
    locks: &'t TokenLocks,
    digest: Digest,
    mutex: Option<Arc<AsyncMutex<()>>>,
    guard: Option<OwnedMutexGuard<()>>,
}

impl TokenLocks {
    /// Waits for the lock on this token. Returns `None` if the requests before it took too long.
    pub(super) async fn lock(&self, digest: Digest) -> Option<TokenLock<'_>> {
        let mutex = Arc::clone(self.0.lock().entry(digest).or_default());
        // From here on, dropping `lock` removes the mutex from the map, even if this future is dropped while it waits.
        let mut lock = TokenLock { locks: self, digest, mutex: Some(Arc::clone(&mutex)), guard: None };
        lock.guard = Some(timeout(TIMEOUT, mutex.lock_owned()).await.ok()?);
        Some(lock)
    }
}

impl Drop for TokenLock<'_> {
    fn drop(&mut self) {
        let mut mutexes = self.locks.0.lock();
        // Both hold the mutex. If no other request holds it then, the map has the only reference.
        drop((self.guard.take(), self.mutex.take()));
        if mutexes.get(&self.digest).is_some_and(|mutex| Arc::strong_count(mutex) == 1) {
            mutexes.remove(&self.digest);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_form_has_no_letters_of_its_own() {
        assert_eq!(form_encoded("aZ09-._*"), "aZ09-._*");
        assert_eq!(form_encoded("a b&c=d+%~é"), "a+b%26c%3Dd%2B%25%7E%C3%A9");
    }

    #[tokio::test]
    async fn a_token_has_one_lock_at_a_time_and_leaves_nothing() {
        let locks = TokenLocks::default();
        let first = locks.lock([1; 32]).await.unwrap();
        let other = locks.lock([2; 32]).await.unwrap();
        let mut second = Box::pin(locks.lock([1; 32]));
        assert!((&mut second).now_or_never().is_none());
        // A request that is dropped while it waits for the lock.
        assert!(locks.lock([1; 32]).now_or_never().is_none());
        assert_eq!(locks.0.lock().len(), 2);
        drop((first, other));
        assert_eq!(locks.0.lock().len(), 1);
        drop(second.await.unwrap());
        assert!(locks.0.lock().is_empty());
    }
}
