//! Compares the capabilities that a plugin imports with its grants, by the table of capabilities.
//!
//! Importing is not using: most toolchains import all of WASI, so a missing grant is a warning and no fault. `inspect`,
//! `check` and `serve` all use this comparison, so they tell an operator the same.

use serde_json::{Value, json};

use crate::capability::plugin_grants::ImportGrants;
use crate::config::{GrantSentence, Grants};

/// A plugin's imports compared with its grants.
#[derive(Debug)]
pub(super) struct CapabilityReport {
    /// The capabilities that the plugin imports.
    needs: Vec<ImportGrants>,
    /// What the grants permit, in sentences.
    granted: Vec<GrantSentence>,
    /// Whether a grant opens it, for each of `needs`.
    is_open: Vec<bool>,
    /// Keys of grants that no import uses.
    superfluous: Vec<&'static str>,
    /// Surprising consequences of the grants.
    warnings: Vec<String>,
}

impl CapabilityReport {
    pub(super) fn of(imports: &[String], grants: &Grants) -> Self {
        let mut needs = Grants::imports();
        needs.retain(|needed| imports.iter().any(|import| import.starts_with(needed.import.prefix)));
        let granted = granted(grants);
        let mut keys: Vec<_> = granted.iter().map(|(key, _)| *key).collect();
        keys.dedup();
        let opens = |key: &str, needed: &ImportGrants| grants.opens(key, needed.import.prefix);
        let all = Grants::imports();
        // A grant that no import uses, such as that of apps, is never superfluous here.
        let is_of_imports = |key: &str| all.iter().any(|import| import.keys.contains(&key));
        let is_used = |key: &str| needs.iter().any(|needed| opens(key, needed));
        let superfluous = keys.iter().copied().filter(|key| is_of_imports(key) && !is_used(key)).collect();
        let is_open: Vec<bool> =
            needs.iter().map(|needed| keys.iter().any(|key| opens(key, needed))).collect();
        Self { needs, is_open, granted, superfluous, warnings: grants.warnings() }
    }

    /// The capabilities that the plugin imports and is not granted.
    fn unreachable(&self) -> Vec<&ImportGrants> {
        let with_open = self.needs.iter().zip(&self.is_open);
        with_open.filter(|(_, is_open)| !**is_open).map(|(needed, _)| needed).collect()
    }

    /// Adds the report to a JSON object. `others` are warnings about the same plugin.
    pub(super) fn describe(&self, object: &mut Value, others: &[String]) {
        let rows = |rows: &[&ImportGrants]| -> Value {
            rows.iter().map(|row| json!({ "what": row.import.what, "grants": row.keys })).collect()
        };
        let granted = self.granted.iter().map(|(key, may)| json!({ "grant": key, "may": may })).collect();
        let warnings: Vec<&String> = self.warnings.iter().chain(others).collect();
        let Some(object) = object.as_object_mut() else { return };
        for (name, value) in [
            ("needs", rows(&self.needs.iter().collect::<Vec<_>>())),
            ("granted", granted),
            ("unreachable", rows(&self.unreachable())),
            ("superfluous", json!(self.superfluous)),
            ("warnings", json!(warnings)),
        ] {
            object.insert(name.to_owned(), value);
        }
    }

    /// The report in lines for people.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let list = |what: &str, rows: &[&ImportGrants], words: fn(&ImportGrants) -> String| {
            let shown: Vec<_> =
                rows.iter().filter(|row| !row.import.is_common).map(|row| words(row)).collect();
            (!shown.is_empty()).then(|| format!("{what} {}", shown.join(", ")))
        };
        lines.extend(list("would need", &self.needs.iter().collect::<Vec<_>>(), need));
        lines.extend(self.granted.iter().map(|(_, may)| format!("may {may}")));
        lines.extend(list("cannot reach", &self.unreachable(), |row| row.import.what.to_owned()));
        let unused = |key: &&str| format!("warning: `{key}` is granted, but nothing that it imports uses it");
        lines.extend(self.superfluous.iter().map(unused));
        lines.extend(self.warnings.iter().map(|warning| format!("warning: {warning}")));
        lines
    }
}

/// A capability and the grants that open it.
fn need(ImportGrants { import, keys }: &ImportGrants) -> String {
    match keys.as_slice() {
        [] => format!("{} (never granted)", import.what),
        keys => format!("{} (`{}`)", import.what, keys.join("` or `")),
    }
}

/// All grants in sentences.
pub(super) fn granted(grants: &Grants) -> Vec<GrantSentence> {
    grants.describe()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ElicitationGrant, GrantContext, ProtectedPaths};

    fn grants(texts: &[&str]) -> Grants {
        let mut grants = Grants::default();
        let context = GrantContext { base: std::path::Path::new(""), protected: &ProtectedPaths::default() };
        texts.iter().for_each(|text| grants.add(text, context).unwrap());
        grants
    }

    fn report(imports: &[&str], grants: &Grants) -> CapabilityReport {
        let imports: Vec<_> = imports.iter().map(|import| format!("{import}@0.2.6")).collect();
        CapabilityReport::of(&imports, grants)
    }

    fn whats<'r>(rows: impl IntoIterator<Item = &'r ImportGrants>) -> Vec<&'static str> {
        rows.into_iter().map(|row| row.import.what).collect()
    }

    #[test]
    fn imports_are_set_against_grants() {
        let imports =
            ["wasi:filesystem/types", "wasi:filesystem/preopens", "wasi:sockets/tcp", "wasi:config/store"];
        let result = report(&imports, &grants(&["config=region=eu", "kv"]));
        assert_eq!(whats(&result.needs), ["files", "sockets", "settings and secrets"]);
        assert_eq!(whats(result.unreachable()), ["files", "sockets"]);
        assert_eq!(result.superfluous, ["kv"]);
        let granted: Vec<_> = result.granted.iter().map(|(_, may)| may.as_str()).collect();
        assert_eq!(granted, ["keep up to 16 MiB between calls", "read the settings region"]);
    }

    #[test]
    fn an_input_batch_needs_one_of_three_grants() {
        let one = Grants { elicitation: ElicitationGrant(true), ..Grants::default() };
        let result = report(&["plugport:plugin/inputs"], &one);
        assert!(result.unreachable().is_empty() && result.superfluous.is_empty(), "{result:?}");
        let none = report(&["plugport:plugin/inputs"], &Grants::default());
        assert_eq!(
            none.lines()[0],
            "would need several client requests at once (`sampling` or `elicitation` or `roots`)"
        );
    }

    #[test]
    fn what_is_imported_and_harmless_needs_nothing() {
        let result =
            report(&["wasi:clocks/wall-clock", "wasi:cli/stdout", "wasi:io/streams"], &Grants::default());
        assert!(result.needs.is_empty() && result.granted.is_empty(), "{result:?}");
    }

    #[test]
    fn values_are_never_told() {
        let grants = grants(&["env=TZ=hunter2!", "config=region=hunter2!", "secret=path=env:PATH"]);
        let mut object = json!({});
        report(&["wasi:config/store"], &grants).describe(&mut object, &[]);
        let text = object.to_string();
        assert!(
            text.contains("TZ") && text.contains("region") && text.contains("the variable PATH"),
            "{text}"
        );
        assert!(!text.contains("hunter2") && !text.contains("/bin"), "{text}");
    }

    #[test]
    fn reading_the_clients_folders_is_a_use_of_files() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plugport.toml");
        let text = "[plugins.all.grants]\nroots = { read = [\".\"] }\n[plugins.names.grants]\nroots = true\n";
        std::fs::write(&file, text).unwrap();
        let config = crate::config::Config::read(&file, dir.path().join("plugins")).unwrap();
        let report_of = |plugin: &str| report(&["wasi:filesystem/types"], &config.plugin(plugin).grants);
        let all = report_of("all");
        assert!(all.unreachable().is_empty() && all.superfluous.is_empty(), "{all:?}");
        let names = report_of("names");
        assert_eq!((whats(names.unreachable()), names.superfluous), (vec!["files"], vec!["roots"]));
    }

    #[test]
    fn what_every_standard_library_imports_is_told_when_it_is_granted() {
        let imports = ["wasi:cli/environment", "wasi:sockets/tcp"];
        let told = report(&imports, &Grants::default());
        assert_eq!(told.lines(), ["would need sockets (never granted)", "cannot reach sockets"]);
        assert_eq!(whats(told.unreachable()), ["sockets", "environment variables"], "programs are told all");
        let told = report(&imports, &grants(&["env=TZ=UTC"]));
        assert!(told.superfluous.is_empty() && told.lines().contains(&"may see the variables TZ".to_owned()));
    }
}
