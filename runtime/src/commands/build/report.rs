//! What came of a build, after it was loaded as a server would load it: with nothing granted.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::BuiltComponent;
use super::output::WrittenFile;
use crate::catalog::PluginEntry;
use crate::commands::project::Project;
use crate::commands::{CommandError, call};
use crate::config::{Config, Grants, PluginConfig};
use crate::observe::Escaped;
use crate::sandbox::KvDatabase;

/// A build that has ended well.
pub(super) struct BuildReport<'a> {
    pub(super) project: &'a Project,
    pub(super) built: &'a BuiltComponent,
    pub(super) output: &'a WrittenFile,
    /// How long it took.
    pub(super) seconds: Duration,
}

impl BuildReport<'_> {
    /// Loads what was written. What does not load stays, for whoever wants to look into it.
    pub(super) async fn load(&self) -> Result<PluginEntry, CommandError> {
        let config = Config::new(PathBuf::new());
        let name = self.built.name.clone();
        let settings = PluginConfig { grants: Grants::default(), ..config.plugin(&name) };
        let store = KvDatabase::in_memory().context("cannot open a key-value store in memory")?;
        let target = call::LoadTarget { path: self.output.file.clone(), name, settings, store, own: false };
        let loaded = match call::read(&target) {
            Ok(artifact) => call::load_component(target, artifact, &config).await,
            Err(failure) => Err(failure),
        };
        loaded.map_err(|failure| {
            let (CommandError::Usage(error) | CommandError::Failed(error)) = failure;
            CommandError::Failed(error.context("it was built, but no server could load it"))
        })
    }

    /// The tools of what was loaded, each with the first line of its description.
    fn tools(entry: &PluginEntry) -> impl Iterator<Item = (&str, &str)> {
        entry.tools.iter().map(|tool| {
            let description = tool.tool.description.as_deref().unwrap_or_default();
            (tool.tool.name.as_str(), description.lines().next().unwrap_or_default())
        })
    }

    pub(super) fn as_json(&self, loaded: Option<&PluginEntry>) -> Value {
        let tools = loaded.map(|entry| {
            let tool = |(name, description)| json!({ "name": name, "description": description });
            Self::tools(entry).map(tool).collect::<Vec<_>>()
        });
        json!({
            "file": self.output.file,
            "bytes": self.built.component.len(),
            "digest": loaded.map(|entry| format!("sha256:{}", entry.plugin.digest())),
            "changed": self.output.changed,
            "language": self.project.language.word(),
            "seconds": self.seconds.as_millis() as f64 / 1000.0,
            "metadata": self.built.about.as_json(),
            "tools": tools,
        })
    }

    pub(super) fn as_text(&self, loaded: Option<&PluginEntry>) -> String {
        let file = self.output.file.display().to_string();
        let same = if self.output.changed { "" } else { "; it is the same as before" };
        let mut lines = vec![format!(
            "{}  {} bytes  built in {:.1} s{same}",
            Escaped(&file),
            self.built.component.len(),
            self.seconds.as_secs_f64()
        )];
        lines.extend(loaded.into_iter().flat_map(Self::listed));
        lines.join("\n")
    }

    /// What it offers. The words are the author's, and may still be a stranger's.
    fn listed(entry: &PluginEntry) -> Vec<String> {
        let mut lines = vec!["tools".to_owned()];
        let tool =
            |(name, description)| format!("  {:<24} {}", Escaped(name).to_string(), Escaped(description));
        lines.extend(Self::tools(entry).map(tool));
        if entry.tools.is_empty() {
            lines.push("  none".to_owned());
        }
        let refused = entry.rejected.iter().map(|refused| {
            let name = Escaped(&refused.name).to_string();
            format!("  {name:<24} cannot be published: {}", Escaped(&refused.why))
        });
        lines.extend(refused);
        lines
    }
}
