//! What the crate of the authors' commands needs of the server: to load a component, and to read the configuration as a
//! server does.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use plugport_authoring::{
    DevLoad, ListedTool, LoadedPlugin, Loading, RejectedItem, ServerAccess, ServerPaths,
};

use super::published_names::LISTS_NOTHING;
use super::serve::NO_TOOLS;
use super::{CommandError, call};
use crate::catalog::PluginEntry;
use crate::config::{ApprovalMode, Config, ConfigError, Grants, PluginConfig, parse_listen, user_cache_dir};
use crate::sandbox::KvDatabase;

/// Implements `ServerAccess` for the crate of the authors' commands.
pub(super) struct ThisServer;

impl ServerAccess for ThisServer {
    fn load<'a>(&'a self, name: &'a str, file: &'a Path, dev: Option<DevLoad<'a>>) -> Loading<'a> {
        let loading = load(name, file, dev);
        Box::pin(async move { loading.await.map(listed).map_err(CommandError::into_error) })
    }

    fn read_config(
        &self,
        file: Option<&Path>,
        plugins: &Path,
        listen: Option<&str>,
    ) -> anyhow::Result<ServerPaths> {
        let plugins = plugins.to_owned();
        let config = match file {
            Some(file) => Config::read(file, plugins)?,
            None => Config::new(plugins),
        };
        let listen = listen.map_or(Ok(config.server.listen), listen_address)?;
        Ok(paths(&config, listen))
    }

    fn cache_dir(&self) -> Option<PathBuf> {
        user_cache_dir()
    }

    fn check_listen(&self, address: &str) -> anyhow::Result<()> {
        listen_address(address).map(drop)
    }

    fn is_nothing_published(&self, line: &str) -> bool {
        line.starts_with(NO_TOOLS)
    }
}

fn listen_address(address: &str) -> anyhow::Result<SocketAddr> {
    Ok(parse_listen(address).map_err(|why| ConfigError::Argument(format!("--listen: {why}")))?)
}

/// Loads a component without grants.
async fn load(name: &str, file: &Path, dev: Option<DevLoad<'_>>) -> Result<PluginEntry, CommandError> {
    let usual = Config::new(PathBuf::new());
    let configured = dev.and_then(|dev| dev.config).map(|file| Config::read(file, PathBuf::new()));
    // The server tells of mistakes.
    let config = configured.and_then(Result::ok).unwrap_or_else(|| usual.clone());
    let (limits, dev_sources) = (config.plugin(name).limits, dev.map(|dev| Arc::from(dev.sources)));
    let settings = PluginConfig { limits, grants: Grants::default(), dev_sources, ..usual.plugin(name) };
    let store = KvDatabase::in_memory().context("cannot open a key-value store in memory")?;
    let (path, name) = (file.to_owned(), name.to_owned());
    let target = call::LoadTarget { path, name, settings, store, in_folder: false };
    let artifact = call::read(&target)?;
    call::load_component(target, artifact, &config).await
}

fn listed(entry: PluginEntry) -> LoadedPlugin {
    let tools = entry.tools.iter().map(|tool| ListedTool {
        name: tool.tool.name.clone(),
        description: tool.tool.description.clone().unwrap_or_default(),
    });
    let rejected = entry
        .rejected
        .iter()
        .map(|rejected| RejectedItem { name: rejected.name.clone(), why: rejected.why.clone() });
    LoadedPlugin {
        digest: entry.plugin.digest().to_string(),
        tools: tools.collect(),
        rejected: rejected.collect(),
        warning: entry.lists_nothing().then_some(LISTS_NOTHING),
    }
}

/// `listen` is the address of the server.
fn paths(config: &Config, listen: SocketAddr) -> ServerPaths {
    let own = [&config.state_dir, &config.compiled_cache_dir, &config.audit.file].into_iter().flatten();
    let dirs = config.plugins.values().flat_map(|plugin| &plugin.grants.filesystem);
    let writable = dirs.filter(|dir| dir.write.is_some()).map(|dir| &dir.host);
    ServerPaths {
        audit_enabled: config.audit.enabled,
        audit: config.audit_file(),
        written: own.chain(writable).cloned().collect(),
        approves: config.server.approval.unwrap_or_else(|| ApprovalMode::default_for(Some(listen)))
            != ApprovalMode::Off,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_the_server_and_its_plugins_write_to_are_known() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let plugins = root.join("plugins");
        let usual = ThisServer.read_config(None, &plugins, None).unwrap();
        assert_eq!(usual.audit, Config::new(plugins.clone()).audit_file());
        let file = root.join("plugport.toml");
        std::fs::create_dir(root.join("data")).unwrap();
        let text = "[server]\nstate_dir = \"kept\"\n[plugins.x.grants]\ndirs = [{ host = \"data\", write = true }]\n";
        std::fs::write(&file, text).unwrap();
        let own = ThisServer.read_config(Some(&file), &plugins, None).unwrap();
        assert_eq!(own.audit, Some(root.join("kept/audit.jsonl")));
        assert_eq!(own.written, [root.join("kept"), root.join("data")]);
        assert!(own.audit_enabled);
        let approves = |listen| ThisServer.read_config(None, &plugins, Some(listen)).unwrap().approves;
        assert!(!usual.approves && !approves("127.0.0.1:1") && approves("0.0.0.0:1"));
        std::fs::write(&file, "[serv").unwrap();
        assert!(ThisServer.read_config(Some(&file), &plugins, None).is_err());
    }

    #[test]
    fn an_address_without_a_port_is_told() {
        let why = ThisServer.check_listen("8080").unwrap_err().to_string();
        assert!(why.contains("--listen: ") && why.contains("127.0.0.1:8080"), "{why}");
        assert!(ThisServer.check_listen("127.0.0.1:0").is_ok());
    }
}
