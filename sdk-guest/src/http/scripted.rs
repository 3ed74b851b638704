//! Responses for tests: what a closure returns, one per thread.

use std::cell::RefCell;

use super::{Failure, Request, Response, UrlParts};

type Answer = Box<dyn FnMut(&Request) -> Result<Response, Failure>>;

thread_local! {
    static ANSWER: RefCell<Option<Answer>> = const { RefCell::new(None) };
    static SENT: RefCell<Vec<Request>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn send(request: &Request, url: &UrlParts<'_>) -> Result<Response, Failure> {
    SENT.with_borrow_mut(|asked| asked.push(request.clone()));
    // Taken out meanwhile, so that an answer may itself ask.
    let Some(mut answer) = ANSWER.take() else {
        let scheme = if url.secure { "https" } else { "http" };
        return Err(Failure::Denied(format!("{scheme}://{}{}", url.authority, url.path)));
    };
    let answered = answer(request);
    ANSWER.with_borrow_mut(|slot| *slot = slot.take().or(Some(answer)));
    answered.map(|mut answered| {
        answered.cut |= answered.body.len() > request.most;
        answered.body.truncate(request.most);
        answered
    })
}

/// What tests reach through [`testing`](crate::testing).
pub(crate) mod script {
    use super::{ANSWER, Failure, Request, Response, SENT};

    pub(crate) fn answer(answer: impl FnMut(&Request) -> Result<Response, Failure> + 'static) {
        ANSWER.set(Some(Box::new(answer)));
    }

    pub(crate) fn take() -> Vec<Request> {
        SENT.take()
    }
}
