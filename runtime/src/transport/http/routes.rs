//! What the listener serves: a service for each connection, so that what is known of the connection need not be an
//! extension of every request. A service of hyper, since one of tower is copied for each request.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use super::connection_limit::Activity;

/// A connection, as far as its requests need it.
#[derive(Debug)]
pub struct Connection {
    /// The client's address.
    pub(super) peer: IpAddr,
    pub(super) activity: Arc<Activity>,
}

/// What serves the requests of all connections.
pub trait Routes: Clone + Send + Sync + 'static {
    /// What serves the requests of one connection.
    type Service: Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send>
        + Send
        + Sync
        + 'static;

    /// The service of a new connection.
    fn of_connection(&self, connection: Connection) -> Self::Service;
}

/// A router of axum, which needs to know nothing of its connections.
impl<S> Routes for TowerToHyperService<S>
where
    Self: Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    type Service = Self;

    fn of_connection(&self, _: Connection) -> Self {
        self.clone()
    }
}
