//! What all requests share.

use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;

use super::sessions::Sessions;
use crate::catalog::Catalog;
use crate::config;

/// The server, as a client meets it.
#[derive(Debug)]
pub struct Server {
    pub(super) catalog: Arc<Catalog>,
    pub(super) sessions: Sessions,
    pub(super) settings: config::Server,
    /// Name and version of this program.
    pub(super) info: Box<RawValue>,
}

impl Server {
    /// A server that offers what is in `catalog`.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>, settings: config::Server) -> Self {
        let info = json!({ "name": "plugport", "title": "Plugport", "version": env!("CARGO_PKG_VERSION") });
        Self {
            catalog,
            sessions: Sessions::new(settings.sessions, settings.session_idle),
            settings,
            info: serde_json::value::to_raw_value(&info).unwrap_or_else(|_| RawValue::NULL.to_owned()),
        }
    }

    /// The `[server]` settings it was made with.
    #[must_use]
    pub fn settings(&self) -> &config::Server {
        &self.settings
    }

    /// Waits for calls that outlive their connections.
    pub async fn finish(&self) {
        self.sessions.finish().await;
    }
}
