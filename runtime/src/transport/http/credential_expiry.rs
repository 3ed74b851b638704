//! Ends event streams of principals whose credentials are no longer valid.
//!
//! A request is authenticated when it arrives, but its event stream may stay open for days. So the body of such a
//! response ends when the principal's credentials expire, or when a changed configuration or a changed file of
//! authorities no longer accepts them. The client then comes back with other credentials and resumes its session. What
//! a caller receives on its own streams follows its current roles, so a change of roles ends none of them. It may end a
//! stream that another token of the principal has resumed (`resumable_stream`).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::{Body, Bytes};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http_body::Frame;

use super::response_body::{HttpResponse, ResponseBody, boxed};
use super::sse;
use super::tls::ConnectionCertificate;
use crate::access::{Authenticator, Principal};

/// A body that ends when the credentials of its principal end.
struct CredentialBound {
    body: ResponseBody,
    ended: BoxFuture<'static, ()>,
}

/// If the response is an event stream, ends it when the credentials of `principal` are no longer valid; with `None`,
/// when callers without credentials are no longer accepted (`is_loopback` says whether the caller is on this machine).
/// `certificate` is the client certificate of the connection, whose authority must stay trusted.
pub(super) fn bind(
    response: HttpResponse,
    authenticator: &Arc<Authenticator>,
    principal: Option<Arc<Principal>>,
    is_loopback: bool,
    certificate: Option<&ConnectionCertificate>,
) -> HttpResponse {
    if !sse::is_stream(&response) {
        return response;
    }
    let authenticator = Arc::clone(authenticator);
    let distrusted = certificate.map(|certificate| certificate.distrusted.clone()).unwrap_or_default();
    let ended = async move {
        let ended = authenticator.ended(principal.as_ref(), is_loopback);
        distrusted.run_until_cancelled(ended).await;
    };
    let ended = ended.boxed();
    boxed(response.map(|body| Body::new(CredentialBound { body, ended })))
}

impl http_body::Body for CredentialBound {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.ended.poll_unpin(context).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
