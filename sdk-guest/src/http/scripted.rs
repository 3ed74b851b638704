//! Responses for tests, from a closure per thread.

use std::cell::RefCell;

use super::{Failure, Request, Response, UrlParts};

type Responder = Box<dyn FnMut(&Request) -> Result<Response, Failure>>;

thread_local! {
    static RESPONDER: RefCell<Option<Responder>> = const { RefCell::new(None) };
    static SENT: RefCell<Vec<Request>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn send(request: &Request, url: &UrlParts<'_>) -> Result<Response, Failure> {
    SENT.with_borrow_mut(|sent| sent.push(request.clone()));
    // The responder is taken out while it runs, so that it may itself send requests.
    let Some(mut responder) = RESPONDER.take() else {
        let scheme = if url.secure { "https" } else { "http" };
        return Err(Failure::Denied(format!("{scheme}://{}{}", url.authority, url.path)));
    };
    let outcome = responder(request);
    RESPONDER.with_borrow_mut(|slot| *slot = slot.take().or(Some(responder)));
    outcome.map(|mut response| {
        response.cut |= response.body.len() > request.max_body;
        response.body.truncate(request.max_body);
        response
    })
}

/// The functions that [`testing`](crate::testing) uses.
pub(crate) mod script {
    use super::{Failure, RESPONDER, Request, Response, SENT};

    pub(crate) fn respond(responder: impl FnMut(&Request) -> Result<Response, Failure> + 'static) {
        RESPONDER.set(Some(Box::new(responder)));
    }

    pub(crate) fn take() -> Vec<Request> {
        SENT.take()
    }
}
