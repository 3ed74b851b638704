//! What these commands need of the server's code: to load a component as a server would, and to read its configuration.
//! The program implements the trait, so that this crate compiles without the engine.

use std::path::{Path, PathBuf};
use std::pin::Pin;

/// A plugin that is being loaded.
pub type Loading<'a> = Pin<Box<dyn Future<Output = anyhow::Result<LoadedPlugin>> + 'a>>;

/// The server's code.
pub trait ServerAccess: Sync {
    /// Loads a component as the plugin `name`, with nothing granted and without its sidecar.
    fn load<'a>(&'a self, name: &'a str, file: &'a Path) -> Loading<'a>;

    /// Where a server with this configuration writes; `plugins` is its plugin folder.
    ///
    /// # Errors
    /// When the configuration has mistakes.
    fn read_config(&self, file: Option<&Path>, plugins: &Path) -> anyhow::Result<ServerPaths>;

    /// Sees that a server could listen at what `--listen` says.
    ///
    /// # Errors
    /// When it is no address with a port.
    fn check_listen(&self, address: &str) -> anyhow::Result<()>;

    /// Whether a server says in this line of its stderr that it has nothing to publish.
    fn is_nothing_published(&self, line: &str) -> bool;
}

/// A plugin as a server sees it.
#[derive(Debug)]
pub struct LoadedPlugin {
    /// SHA-256 of the file, in hexadecimal digits.
    pub digest: String,
    /// What clients could call.
    pub tools: Vec<ListedTool>,
    /// What cannot be published.
    pub rejected: Vec<RejectedItem>,
}

/// A tool of a plugin.
#[derive(Debug)]
pub struct ListedTool {
    /// The plugin's own name for it.
    pub name: String,
    /// What it is for; empty when the plugin does not say.
    pub description: String,
}

/// An item of a plugin that breaks a rule.
#[derive(Debug)]
pub struct RejectedItem {
    /// The plugin's own name for it.
    pub name: String,
    /// Which rule, and what to do.
    pub why: String,
}

/// Where a server writes. Relative paths begin at the configuration's folder.
#[derive(Debug)]
pub struct ServerPaths {
    /// Whether calls are noted at all.
    pub audit_enabled: bool,
    /// Where calls are noted, if there is a place.
    pub audit: Option<PathBuf>,
    /// Files and folders that the server or a plugin may write to.
    pub written: Vec<PathBuf>,
}
