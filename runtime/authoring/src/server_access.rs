//! What the authors' commands need of the server's code: to load a component as a server would, and to read a server's
//! configuration. The program implements the trait, so this crate compiles without the engine.

use std::path::{Path, PathBuf};
use std::pin::Pin;

/// A plugin that is being loaded.
pub type Loading<'a> = Pin<Box<dyn Future<Output = anyhow::Result<LoadedPlugin>> + 'a>>;

/// The functions of the server.
pub trait ServerAccess: Sync {
    /// Loads a component as the plugin `name`, without grants and without its sidecar. `dev`: for `plugport dev`.
    fn load<'a>(&'a self, name: &'a str, file: &'a Path, dev: Option<DevLoad<'a>>) -> Loading<'a>;

    /// Where a server with this configuration writes, and whether it needs approvals; `plugins` is its plugin folder,
    /// and `listen` the value of `--listen`.
    ///
    /// # Errors
    /// When the configuration or the address has mistakes.
    fn read_config(
        &self,
        file: Option<&Path>,
        plugins: &Path,
        listen: Option<&str>,
    ) -> anyhow::Result<ServerPaths>;

    /// The user's folder for what can be made again; `None` when the environment names none.
    fn cache_dir(&self) -> Option<PathBuf>;

    /// Checks that `address` is a valid value of `--listen`.
    ///
    /// # Errors
    /// When it is no address with a port.
    fn check_listen(&self, address: &str) -> anyhow::Result<()>;

    /// Whether this line of a server's stderr says that it has nothing to publish.
    fn is_nothing_published(&self, line: &str) -> bool;
}

/// How the server of `plugport dev` loads a component.
#[derive(Debug, Clone, Copy)]
pub struct DevLoad<'a> {
    /// The sources that the component loads; empty if it has its own.
    pub sources: &'a str,
    /// The configuration with the limits, if there is one.
    pub config: Option<&'a Path>,
}

/// A plugin as a server sees it.
#[derive(Debug)]
pub struct LoadedPlugin {
    /// SHA-256 of the file, in hexadecimal digits.
    pub digest: String,
    /// The tools that clients could call.
    pub tools: Vec<ListedTool>,
    /// The items that cannot be published.
    pub rejected: Vec<RejectedItem>,
    /// What a server warns of when it publishes the plugin, without the word "warning".
    pub warning: Option<&'static str>,
}

/// A tool of a plugin.
#[derive(Debug)]
pub struct ListedTool {
    /// The plugin's own name for it.
    pub name: String,
    /// Its description; empty if there is none.
    pub description: String,
}

/// An item of a plugin that breaks a rule.
#[derive(Debug)]
pub struct RejectedItem {
    /// The plugin's own name for it.
    pub name: String,
    /// The rule that it breaks, and what to do.
    pub why: String,
}

/// Where a server writes. Relative paths start at the configuration's folder.
#[derive(Debug)]
pub struct ServerPaths {
    /// Whether the audit is enabled.
    pub audit_enabled: bool,
    /// The audit file, if there is one.
    pub audit: Option<PathBuf>,
    /// Files and folders that the server or a plugin may write to.
    pub written: Vec<PathBuf>,
    /// Whether plugins are compared with their approvals.
    pub approves: bool,
}

#[cfg(test)]
pub(crate) mod test_server {
    use super::*;

    /// A server that loads nothing, for this reason.
    pub(crate) struct FailsToLoad(pub(crate) &'static str);

    impl ServerAccess for FailsToLoad {
        fn load<'a>(&'a self, _: &'a str, _: &'a Path, _: Option<DevLoad<'a>>) -> Loading<'a> {
            Box::pin(async { Err(anyhow::anyhow!(self.0).context("x.wasm")) })
        }

        fn read_config(&self, _: Option<&Path>, _: &Path, _: Option<&str>) -> anyhow::Result<ServerPaths> {
            anyhow::bail!(self.0)
        }

        fn cache_dir(&self) -> Option<PathBuf> {
            None
        }

        fn check_listen(&self, _: &str) -> anyhow::Result<()> {
            Ok(())
        }

        fn is_nothing_published(&self, _: &str) -> bool {
            false
        }
    }
}
