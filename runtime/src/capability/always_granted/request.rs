//! `plugport:plugin/request`: the call being served, as the guest holds it.
//!
//! The guest owns the handle, but it is made for one call and is valid only during that call.

use std::sync::Arc;
use std::time::Instant;

use serde_json::value::RawValue;
use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::request::{self, ClientInfo, Host, HostCall};
use crate::call_env::{GuestLog, LogLevel, LogSource};
use crate::capability::{Call, InstanceCtx, guest_log};
use crate::config::fixed_limits::LOG_LINE_BYTES;
use crate::json;

/// Longest name of a logger, bytes.
const MAX_LOGGER: usize = 128;

/// A longer `_meta` is read on a blocking thread, bytes: reading this many takes about 0.2 ms.
const SMALL_META: usize = 64 << 10;

impl Host for InstanceCtx {}

impl HostCall for InstanceCtx {
    async fn client(&mut self, call: Resource<Call>) -> wasmtime::Result<ClientInfo> {
        let client = self.current_call.get(&call)?.client.info();
        let extensions: usize = client.extensions.iter().map(String::len).sum();
        let names = client.name.len() + client.version.len() + client.protocol.len();
        self.host_fuel.charge(names + extensions).await?;
        Ok(ClientInfo {
            name: client.name,
            version: client.version,
            protocol: client.protocol,
            sampling: client.sampling,
            elicitation: client.elicitation,
            roots: client.roots,
            extensions: client.extensions,
        })
    }

    async fn principal(&mut self, call: Resource<Call>) -> wasmtime::Result<Option<String>> {
        let caller = self.current_call.get(&call)?.client.caller();
        let name = caller.name_for_guest().map(str::to_owned);
        self.host_fuel.charge(name.as_deref().unwrap_or_default().len()).await?;
        Ok(name)
    }

    async fn meta(&mut self, call: Resource<Call>) -> wasmtime::Result<Option<String>> {
        let client = Arc::clone(&self.current_call.get(&call)?.client);
        let size = client.meta_size();
        self.host_fuel.charge(size).await?;
        if let Some(known) = &self.current_call.get(&call)?.meta {
            return Ok(known.clone());
        }
        let meta = if size > SMALL_META {
            tokio::task::spawn_blocking(move || client.meta()).await?
        } else {
            client.meta()
        };
        self.current_call.get_mut(&call)?.meta = Some(meta.clone());
        Ok(meta)
    }

    async fn cancelled(&mut self, call: Resource<Call>) -> wasmtime::Result<bool> {
        self.host_fuel.charge(0).await?;
        Ok(self.current_call.get(&call)?.client.cancelled())
    }

    async fn log(
        &mut self,
        call: Resource<Call>,
        level: request::LogLevel,
        logger: Option<String>,
        data: String,
    ) -> wasmtime::Result<()> {
        let logger = logger.unwrap_or_default();
        self.host_fuel.charge(data.len() + logger.len()).await?;
        let client = Arc::clone(&self.current_call.get(&call)?.client);
        if self.logs().is_spent() {
            self.logs().drop_bytes(data.len());
            return Ok(());
        }
        let is_whole = data.len() <= LOG_LINE_BYTES;
        let data = if is_whole { self.logs().shown_json(&data) } else { data.into() };
        if self.logs().line(LogSource::Log, data.as_bytes()) {
            let logger = self.logs().shown(&logger, MAX_LOGGER);
            let data = one_line_json(&data, self.logs());
            client.log(level.into(), Some(&*logger).filter(|logger| !logger.is_empty()), &data);
        }
        Ok(())
    }

    async fn progress(
        &mut self,
        call: Resource<Call>,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> wasmtime::Result<()> {
        self.host_fuel.charge(message.as_ref().map_or(0, String::len)).await?;
        let logs = guest_log(&self.logs, &self.plugin);
        let call = self.current_call.get_mut(&call)?;
        if call.admit_progress(progress, Instant::now()) {
            let message = message.as_deref().map(|text| logs.shown(text, LOG_LINE_BYTES));
            call.client.progress(progress, total.filter(|total| total.is_finite()), message.as_deref());
        }
        Ok(())
    }

    fn drop(&mut self, call: Resource<Call>) -> wasmtime::Result<()> {
        self.current_call.drop_handle(&call);
        Ok(())
    }
}

/// The data of a log message as JSON on one line of at most about [`LOG_LINE_BYTES`]. Data that is not longer has its
/// secrets redacted already. Data that is longer, or is not JSON, becomes a string.
fn one_line_json(data: &str, logs: &GuestLog) -> Box<RawValue> {
    if data.len() <= LOG_LINE_BYTES
        && let Ok(raw) = json::raw(data)
    {
        return raw;
    }
    let text = logs.shown(data, LOG_LINE_BYTES);
    serde_json::value::to_raw_value(&*text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl From<request::LogLevel> for LogLevel {
    fn from(level: request::LogLevel) -> Self {
        match level {
            request::LogLevel::Debug => Self::Debug,
            request::LogLevel::Info => Self::Info,
            request::LogLevel::Notice => Self::Notice,
            request::LogLevel::Warning => Self::Warning,
            request::LogLevel::Error => Self::Error,
            request::LogLevel::Critical => Self::Critical,
            request::LogLevel::Alert => Self::Alert,
            request::LogLevel::Emergency => Self::Emergency,
        }
    }
}
