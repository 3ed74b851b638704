//! A hyper service for each connection, so that facts about the connection need not be an extension of every request.
//! It is hyper's service trait, because a tower service would be cloned for each request.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use axum::BoxError;
use axum::body::Body;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use super::connection_limit::Activity;

/// Facts about a connection that its requests need.
#[derive(Debug)]
pub struct ConnectionInfo {
    /// The client's address.
    pub(super) peer: IpAddr,
    pub(super) activity: Arc<Activity>,
}

/// Makes the service of each connection.
pub trait MakeService: Clone + Send + Sync + 'static {
    /// The body of responses.
    type Body: http_body::Body<Data: Send, Error: Into<BoxError>> + Send + 'static;
    /// What serves the requests of one connection.
    type Service: Service<Request<Incoming>, Response = Response<Self::Body>, Error = Infallible, Future: Send>
        + Send
        + Sync
        + 'static;

    /// Makes the service of a new connection.
    fn make_service(&self, connection: ConnectionInfo) -> Self::Service;
}

/// An axum router, which does not use the facts about its connections.
impl<S> MakeService for TowerToHyperService<S>
where
    Self: Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    type Body = Body;
    type Service = Self;

    fn make_service(&self, _: ConnectionInfo) -> Self {
        self.clone()
    }
}
