//! The client, as the host layer sees it: guest's words to notifications on the request's own stream.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use super::context::{RequestContext, level_name};
use super::era::is_reserved;
use super::message::notification;
use crate::host::{ClientInfo, ClientPort, LogLevel};
use crate::json::RawObject;

/// The client of one call to one plugin.
pub(crate) struct Port {
    context: Arc<RequestContext>,
    plugin: Arc<str>,
}

impl Port {
    pub(crate) fn new(context: &Arc<RequestContext>, plugin: &str) -> Self {
        Self { context: Arc::clone(context), plugin: plugin.into() }
    }
}

#[derive(Serialize)]
struct LogParams<'a> {
    level: &'static str,
    logger: &'a str,
    data: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams<'a> {
    progress_token: &'a RawValue,
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl ClientPort for Port {
    fn client(&self) -> ClientInfo {
        self.context.client.clone()
    }

    fn meta(&self) -> Option<String> {
        let meta = RawObject::parse(self.context.carried.meta.as_deref()?.get()).ok()?.without(is_reserved);
        if meta.is_empty() { None } else { serde_json::to_string(&meta).ok() }
    }

    fn cancelled(&self) -> bool {
        self.context.cancel.is_cancelled()
    }

    fn log(&self, level: LogLevel, logger: Option<&str>, data: &RawValue) {
        if !self.context.threshold.admits(level) {
            return;
        }
        let logger =
            logger.map_or_else(|| self.plugin.to_string(), |logger| format!("{}/{logger}", self.plugin));
        let params = LogParams { level: level_name(level), logger: &logger, data };
        self.context.outbox.send(notification("notifications/message", &params));
    }

    fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(progress_token) = self.context.carried.progress_token.as_deref() else {
            return;
        };
        let message = message.filter(|_| self.context.revision.has_progress_message());
        let params = ProgressParams { progress_token, progress, total, message };
        self.context.outbox.send(notification("notifications/progress", &params));
    }
}
