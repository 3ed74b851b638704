//! `wasi:config`: the settings and secrets that the operator granted to a plugin.
//!
//! One interface for both, so that a plugin need not know which of its settings its operator treats as a secret, and so
//! that guests in any language find bindings. A secret can only be read by name: `get-all` lists none, because programs
//! print its result when they start.

use crate::bindings::config::wasi::config::store::{Error, Host};
use crate::call_env::GrantHint;
use crate::capability::InstanceCtx;
use crate::config::PluginConfig;

/// The key under which a plugin that `plugport dev` serves reads its sources. A value of an operator with this name is
/// never read: a server has such sources only if `dev` started it.
const DEV_SOURCES: &str = "plugport:dev-sources";

/// Longest key of a guest that is shown to the operator, bytes.
const MAX_SHOWN: usize = 64;

impl Host for InstanceCtx {
    async fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<String>, Error>> {
        self.host_fuel.charge(key.len()).await?;
        let value = value_of(&self.plugin.config, &key).map(str::to_owned);
        self.host_fuel.charge(value.as_ref().map_or(0, String::len)).await?;
        if value.is_none() {
            self.record_missing(&key);
        }
        Ok(Ok(value))
    }

    async fn get_all(&mut self) -> wasmtime::Result<Result<Vec<(String, String)>, Error>> {
        let values = &self.plugin.config.grants.config.values;
        let config = || values.iter().filter(|(key, _)| *key != DEV_SOURCES);
        let size = config().map(|(key, value)| key.len() + value.len()).sum();
        let all = config().map(|(key, value)| (key.clone(), value.clone())).collect();
        self.host_fuel.charge(size).await?;
        Ok(Ok(all))
    }
}

/// What the plugin reads under a key.
fn value_of<'a>(config: &'a PluginConfig, key: &str) -> Option<&'a str> {
    if key == DEV_SOURCES {
        return config.dev_sources.as_deref();
    }
    let granted = &config.grants.config;
    let value = granted.values.get(key).map(String::as_str);
    value.or_else(|| granted.secrets.get(key).map(|secret| secret.expose_secret()))
}

impl InstanceCtx {
    /// Tells the operator which line would provide a value. Without any setting or secret the interface is not granted,
    /// so the plugin was denied the value; otherwise the value is only missing.
    fn record_missing(&mut self, key: &str) {
        // Secrets are redacted before the key is cut: the redactor does not know the beginning of a secret.
        let shown = self.logs().shown(key, MAX_SHOWN);
        let requested = format!("the configuration value `{shown}`");
        let line = format!("config = {{ {} = \"...\" }}", toml_key(&shown));
        let hint = GrantHint::new(line, [format!("config={shown}=...")]);
        let granted = &self.plugin.config.grants.config;
        if granted.values.is_empty() && granted.secrets.is_empty() {
            self.deny(&requested, hint);
        } else {
            self.denials().record_missing_value(&self.plugin, &requested, &hint);
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
    use crate::config::Config;

    #[test]
    fn only_dev_gives_sources() {
        let mut config = Config::new(std::path::PathBuf::new()).plugin("x");
        let values = &mut config.grants.config.values;
        values.extend(["a", DEV_SOURCES].map(|key| (key.to_owned(), "granted".to_owned())));
        assert_eq!(value_of(&config, "a"), Some("granted"));
        assert_eq!(value_of(&config, DEV_SOURCES), None);
        config.dev_sources = Some("sources".into());
        assert_eq!(value_of(&config, DEV_SOURCES), Some("sources"));
    }

    #[test]
    fn keys_are_quoted_where_toml_wants_it() {
        assert_eq!(toml_key("api-key_2"), "api-key_2");
        assert_eq!(toml_key("a b"), "\"a b\"");
        assert_eq!(toml_key("a.\"b"), "\"a.\\\"b\"");
        assert_eq!(toml_key(""), "\"\"");
    }
}
