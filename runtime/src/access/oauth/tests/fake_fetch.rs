//! An authorization server without a network.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::StatusCode;
use parking_lot::Mutex;

use crate::access::oauth::fetch::{Fetch, FetchError, FetchRequest, Fetched};

#[derive(Default)]
pub(crate) struct FakeFetch {
    documents: Mutex<HashMap<String, String>>,
    /// The introspection responses by token; all other tokens are not active.
    tokens: Mutex<HashMap<String, String>>,
    /// The URLs that were fetched, and the credentials of forms.
    fetched: Mutex<Vec<String>>,
    authorizations: Mutex<Vec<String>>,
    is_down: AtomicBool,
}

impl FakeFetch {
    pub(crate) fn publish(&self, url: &str, document: &str) {
        self.documents.lock().insert(url.to_owned(), document.to_owned());
    }

    pub(crate) fn say(&self, token: &str, response: &str) {
        self.tokens.lock().insert(token.to_owned(), response.to_owned());
    }

    pub(crate) fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
    }

    /// How often a URL was fetched.
    pub(crate) fn count(&self, url: &str) -> usize {
        self.fetched.lock().iter().filter(|fetched| *fetched == url).count()
    }

    pub(crate) fn authorizations(&self) -> Vec<String> {
        self.authorizations.lock().clone()
    }

    fn respond(&self, request: FetchRequest) -> Result<Fetched, FetchError> {
        let url = request.endpoint.to_string();
        self.fetched.lock().push(url.clone());
        if self.is_down.load(Ordering::SeqCst) {
            return Err(FetchError::TimedOut);
        }
        let document = match request.form {
            None => self.documents.lock().get(&url).cloned(),
            Some(form) => {
                let authorization = form.authorization.to_str().unwrap_or_default().to_owned();
                self.authorizations.lock().push(authorization);
                let token = form.body.strip_prefix("token=").unwrap().split('&').next().unwrap().to_owned();
                let inactive = || "{\"active\":false}".to_owned();
                Some(self.tokens.lock().get(&token).cloned().unwrap_or_else(inactive))
            }
        };
        let body = document.ok_or(FetchError::Status(StatusCode::NOT_FOUND))?.into();
        Ok(Fetched { body, max_age: Some(Duration::from_secs(3_600)) })
    }
}

impl Fetch for FakeFetch {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'static, Result<Fetched, FetchError>> {
        let response = self.respond(request);
        async move {
            // As over a network, a response is never ready at once.
            tokio::time::sleep(Duration::from_millis(1)).await;
            response
        }
        .boxed()
    }
}
