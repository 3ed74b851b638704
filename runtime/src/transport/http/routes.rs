//! What the listener serves. A service of hyper, since one of tower is copied for each request.

use std::convert::Infallible;

use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::Service;

/// What serves the requests of all connections.
pub trait Routes:
    Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> Routes for S where
    S: Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}
