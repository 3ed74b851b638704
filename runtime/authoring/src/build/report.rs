//! The report of a build, after the component was loaded as a server would load it, without grants.

use std::time::Duration;

use plugport_common::{CommandError, Escaped};
use serde_json::{Value, json};

use super::BuiltComponent;
use super::output::WrittenFile;
use crate::project::Project;
use crate::server_access::{LoadedPlugin, ServerAccess};

/// A successful build.
pub(super) struct BuildReport<'a> {
    pub(super) project: &'a Project,
    pub(super) built: &'a BuiltComponent,
    pub(super) output: &'a WrittenFile,
    /// How long it took.
    pub(super) seconds: Duration,
}

impl BuildReport<'_> {
    /// Loads the output file. If that fails, the file stays for inspection.
    pub(super) async fn load(&self, access: &dyn ServerAccess) -> Result<LoadedPlugin, CommandError> {
        let loaded = access.load(&self.built.name, &self.output.file, None).await;
        loaded
            .map_err(|error| CommandError::Failed(error.context("it was built, but no server could load it")))
    }

    /// The tools of the plugin, each with the first line of its description.
    fn tools(loaded: &LoadedPlugin) -> impl Iterator<Item = (&str, &str)> {
        loaded
            .tools
            .iter()
            .map(|tool| (tool.name.as_str(), tool.description.lines().next().unwrap_or_default()))
    }

    pub(super) fn as_json(&self, loaded: Option<&LoadedPlugin>) -> Value {
        let rejected = loaded.map(|loaded| {
            let rejected = loaded.rejected.iter();
            rejected.map(|item| json!({ "name": item.name, "reason": item.why })).collect::<Vec<_>>()
        });
        let tools = loaded.map(|loaded| {
            let tool = |(name, description)| json!({ "name": name, "description": description });
            Self::tools(loaded).map(tool).collect::<Vec<_>>()
        });
        let warnings = loaded.map(|loaded| loaded.warning.into_iter().collect::<Vec<_>>());
        json!({
            "file": self.output.file,
            "bytes": self.built.component.len(),
            "digest": loaded.map(|loaded| format!("sha256:{}", loaded.digest)),
            "changed": self.output.changed,
            "cached": self.built.is_cached,
            "language": self.project.language.word(),
            "seconds": self.seconds.as_millis() as f64 / 1000.0,
            "metadata": self.built.about.as_json(),
            "tools": tools,
            "rejected": rejected,
            "warnings": warnings,
        })
    }

    pub(super) fn as_text(&self, loaded: Option<&LoadedPlugin>) -> String {
        let file = self.output.file.display().to_string();
        let seconds = self.seconds.as_secs_f64();
        let how = match (self.built.is_cached, self.output.changed) {
            (true, false) => "is up to date".to_owned(),
            (true, true) => "taken from an earlier build".to_owned(),
            (false, true) => format!("built in {seconds:.1} s"),
            (false, false) => format!("built in {seconds:.1} s; it is the same as before"),
        };
        let mut lines = vec![format!("{}  {} bytes  {how}", Escaped(&file), self.built.component.len())];
        lines.extend(loaded.into_iter().flat_map(Self::listed));
        lines.join("\n")
    }

    /// The lines that list the tools. Their text is the author's and untrusted.
    fn listed(loaded: &LoadedPlugin) -> Vec<String> {
        let mut lines = vec!["tools".to_owned()];
        let tool =
            |(name, description)| format!("  {:<24} {}", Escaped(name).to_string(), Escaped(description));
        lines.extend(Self::tools(loaded).map(tool));
        if loaded.tools.is_empty() {
            lines.push("  none".to_owned());
        }
        let rejected = loaded.rejected.iter().map(|rejected| {
            let name = Escaped(&rejected.name).to_string();
            format!("  {name:<24} cannot be published: {}", Escaped(&rejected.why))
        });
        lines.extend(rejected);
        lines.extend(loaded.warning.map(|warning| format!("  warning: {warning}")));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::language::Language;

    /// What `--json` lists as warnings after a build.
    fn warnings_in_json(loaded: Option<&LoadedPlugin>) -> Value {
        let project = Project {
            root: "/p/blank".into(),
            language: Language::C,
            name: "blank".to_owned(),
            manifest: Default::default(),
        };
        let built = BuiltComponent::new(&project, Vec::new());
        let output = WrittenFile { file: "/p/blank/blank.wasm".into(), changed: true };
        let report =
            BuildReport { project: &project, built: &built, output: &output, seconds: Duration::ZERO };
        report.as_json(loaded).get("warnings").cloned().unwrap()
    }

    #[test]
    fn what_a_server_would_warn_of_is_told() {
        let mut loaded =
            LoadedPlugin { digest: String::new(), tools: Vec::new(), rejected: Vec::new(), warning: None };
        assert_eq!(warnings_in_json(None), Value::Null, "it was not loaded");
        assert_eq!(warnings_in_json(Some(&loaded)), json!([]));
        assert_eq!(BuildReport::listed(&loaded), ["tools", "  none"]);
        loaded.warning = Some("it lists nothing");
        assert_eq!(BuildReport::listed(&loaded), ["tools", "  none", "  warning: it lists nothing"]);
        assert_eq!(warnings_in_json(Some(&loaded)), json!(["it lists nothing"]));
    }
}
