//! `wasi:config`: what the operator set for a plugin, and the secrets that it was given.
//!
//! One interface for both, so that a plugin need not know which of its settings its operator treats as a secret, and so
//! that guests in any language find bindings. A secret has to be asked for by name: `get-all` lists none, because that
//! is what programs print when they start.

use crate::bindings::config::wasi::config::store::{Error, Host};
use crate::capability::InstanceCtx;
use crate::host::GrantHint;

/// Longest key of a guest that is repeated to the operator, bytes.
const SHOWN: usize = 64;

impl Host for InstanceCtx {
    async fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<String>, Error>> {
        self.meter.charge(key.len()).await?;
        let grants = &self.plugin.config.grants;
        let found = grants.config.values.get(&key).map(String::as_str);
        let found = found.or_else(|| grants.config.secrets.get(&key).map(|secret| secret.expose_secret()));
        let found = found.map(str::to_owned);
        self.meter.charge(found.as_ref().map_or(0, String::len)).await?;
        if found.is_none() {
            self.miss(&key);
        }
        Ok(Ok(found))
    }

    async fn get_all(&mut self) -> wasmtime::Result<Result<Vec<(String, String)>, Error>> {
        let config = &self.plugin.config.grants.config.values;
        let size = config.iter().map(|(key, value)| key.len() + value.len()).sum();
        let all = config.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        self.meter.charge(size).await?;
        Ok(Ok(all))
    }
}

impl InstanceCtx {
    /// Tells the operator which line would provide a value. Where there is any configuration, a plugin that asks for
    /// more goes on without it; where there is none, it was not granted the interface.
    fn miss(&mut self, key: &str) {
        // Its secrets are hidden before it is cut: the beginning of one would not be known for what it is.
        let shown = self.logs.shown(key, SHOWN);
        let wanted = format!("the configuration value `{shown}`");
        let line = format!("config = {{ {} = \"...\" }}", toml_key(&shown));
        let allow = GrantHint::new(line, [format!("config={shown}=...")]);
        let granted = &self.plugin.config.grants.config;
        if granted.values.is_empty() && granted.secrets.is_empty() {
            self.deny(&wanted, allow);
        } else {
            self.denials.record_missing_value(&self.plugin, &wanted, &allow);
        }
    }
}

/// A key as it is written in TOML.
fn toml_key(key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !key.is_empty() && key.bytes().all(bare) { key.to_owned() } else { format!("{key:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_quoted_where_toml_wants_it() {
        assert_eq!(toml_key("api-key_2"), "api-key_2");
        assert_eq!(toml_key("a b"), "\"a b\"");
        assert_eq!(toml_key("a.\"b"), "\"a.\\\"b\"");
        assert_eq!(toml_key(""), "\"\"");
    }
}
