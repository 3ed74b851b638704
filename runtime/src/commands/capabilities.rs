//! Compares the capabilities that a plugin imports with those that it is granted. One table says which imports and which
//!
//! grants belong to a capability. Importing is not using: most toolchains import all of WASI, so a missing grant is a remark
//! and no fault. `inspect`, `check` and `serve` all use this table, or they would tell an operator different things.

use serde_json::{Value, json};

use crate::config::{GrantSentence, Grants};

/// One thing to reach.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Capability {
    /// Imports that begin like this lead there.
    import: &'static str,
    /// What it is, in words.
    what: &'static str,
    /// Keys under a plugin's grants, each of which opens the way. None: it is never granted.
    grants: &'static [&'static str],
    /// Whether every language's standard library imports it. People are told of it only when it is granted.
    usual: bool,
}

const FILES: &str = "wasi:filesystem/";

/// A capability that not every standard library imports.
const fn capability(import: &'static str, what: &'static str, grants: &'static [&'static str]) -> Capability {
    Capability { import, what, grants, usual: false }
}

const TABLE: &[Capability] = &[
    capability(FILES, "files", &["dirs", "roots"]),
    capability("wasi:http/", "outgoing HTTP", &["http"]),
    capability("wasi:sockets/", "sockets", &[]),
    capability("wasi:keyvalue/", "values kept between calls", &["kv"]),
    capability("wasi:config/", "settings and secrets", &["config", "secrets"]),
    Capability {
        import: "wasi:cli/environment",
        what: "environment variables",
        grants: &["env"],
        usual: true,
    },
    capability("plugport:plugin/sampling", "the client's model", &["sampling"]),
    capability("plugport:plugin/elicitation", "the person at the client", &["elicitation"]),
    capability("plugport:plugin/roots", "the client's roots", &["roots"]),
    capability(
        "plugport:plugin/inputs",
        "several questions to the client at once",
        &["sampling", "elicitation", "roots"],
    ),
];

/// What a plugin imports, set against what it is granted.
#[derive(Debug)]
pub(super) struct CapabilityReport {
    /// What its imports lead to.
    needs: Vec<&'static Capability>,
    /// What it may do.
    granted: Vec<GrantSentence>,
    /// What it imports and is not granted.
    unreachable: Vec<&'static Capability>,
    /// Keys of grants that none of its imports can use.
    superfluous: Vec<&'static str>,
    /// What the operator may expect otherwise.
    remarks: Vec<String>,
}

impl CapabilityReport {
    pub(super) fn of(imports: &[String], grants: &Grants) -> Self {
        let imported = |row: &&Capability| imports.iter().any(|import| import.starts_with(row.import));
        let needs: Vec<_> = TABLE.iter().filter(imported).collect();
        let granted = granted(grants);
        let mut keys: Vec<_> = granted.iter().map(|(key, _)| *key).collect();
        keys.dedup();
        let opens = |key: &str, row: &Capability| row.is_opened_by(key, grants);
        let is_closed = |row: &&Capability| !keys.iter().any(|key| opens(key, row));
        let unreachable = needs.iter().copied().filter(is_closed).collect();
        let superfluous =
            keys.iter().copied().filter(|key| !needs.iter().any(|row| opens(key, row))).collect();
        Self { needs, granted, unreachable, superfluous, remarks: grants.remarks() }
    }

    /// Adds it to an object of JSON.
    pub(super) fn describe(&self, object: &mut Value) {
        let rows = |rows: &[&Capability]| -> Value {
            rows.iter().map(|row| json!({ "what": row.what, "grants": row.grants })).collect()
        };
        let granted = self.granted.iter().map(|(key, may)| json!({ "grant": key, "may": may })).collect();
        let Some(object) = object.as_object_mut() else { return };
        for (name, value) in [
            ("needs", rows(&self.needs)),
            ("granted", granted),
            ("unreachable", rows(&self.unreachable)),
            ("superfluous", json!(self.superfluous)),
            ("remarks", json!(self.remarks)),
        ] {
            object.insert(name.to_owned(), value);
        }
    }

    /// The same for people.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let list = |what: &str, rows: &[&Capability], word: fn(&Capability) -> String| {
            let told: Vec<_> = rows.iter().filter(|row| !row.usual).map(|row| word(row)).collect();
            (!told.is_empty()).then(|| format!("{what} {}", told.join(", ")))
        };
        lines.extend(list("would need", &self.needs, Capability::need));
        lines.extend(self.granted.iter().map(|(_, may)| format!("may {may}")));
        lines.extend(list("cannot reach", &self.unreachable, |row| row.what.to_owned()));
        let unused = |key: &&str| format!("remark: `{key}` is granted, but nothing that it imports uses it");
        lines.extend(self.superfluous.iter().map(unused));
        lines.extend(self.remarks.iter().map(|remark| format!("remark: {remark}")));
        lines
    }
}

impl Capability {
    /// Whether this key of what is granted opens the way. The client's folders are files only where they may be read.
    fn is_opened_by(&self, key: &str, grants: &Grants) -> bool {
        self.grants.contains(&key) && (key != "roots" || self.import != FILES || grants.read_roots.is_some())
    }

    /// What it is, and what would have to be granted for it.
    fn need(&self) -> String {
        match self.grants {
            [] => format!("{} (never granted)", self.what),
            keys => format!("{} (`{}`)", self.what, keys.join("` or `")),
        }
    }
}

/// Everything that is granted, kind by kind.
pub(super) fn granted(grants: &Grants) -> Vec<GrantSentence> {
    grants.describe()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{GrantContext, ProtectedPaths};

    fn grants(given: &[&str]) -> Grants {
        let mut grants = Grants::default();
        let context = GrantContext { base: std::path::Path::new(""), protected: &ProtectedPaths::default() };
        given.iter().for_each(|text| grants.add(text, context).unwrap());
        grants
    }

    fn report(imports: &[&str], grants: &Grants) -> CapabilityReport {
        let imports: Vec<_> = imports.iter().map(|import| format!("{import}@0.2.6")).collect();
        CapabilityReport::of(&imports, grants)
    }

    fn whats(rows: &[&Capability]) -> Vec<&'static str> {
        rows.iter().map(|row| row.what).collect()
    }

    #[test]
    fn imports_are_set_against_grants() {
        let imports =
            ["wasi:filesystem/types", "wasi:filesystem/preopens", "wasi:sockets/tcp", "wasi:config/store"];
        let found = report(&imports, &grants(&["config=region=eu", "kv"]));
        assert_eq!(whats(&found.needs), ["files", "sockets", "settings and secrets"]);
        assert_eq!(whats(&found.unreachable), ["files", "sockets"]);
        assert_eq!(found.superfluous, ["kv"]);
        let granted: Vec<_> = found.granted.iter().map(|(_, may)| may.as_str()).collect();
        assert_eq!(granted, ["keep up to 16 MiB between calls", "read the settings region"]);
    }

    #[test]
    fn a_question_among_several_needs_one_of_three_grants() {
        let one = Grants { roots: true, ..Grants::default() };
        let found = report(&["plugport:plugin/inputs"], &one);
        assert!(found.unreachable.is_empty() && found.superfluous.is_empty(), "{found:?}");
        let none = report(&["plugport:plugin/inputs"], &Grants::default());
        assert_eq!(
            none.lines()[0],
            "would need several questions to the client at once (`sampling` or `elicitation` or `roots`)"
        );
    }

    #[test]
    fn what_is_imported_and_harmless_needs_nothing() {
        let found =
            report(&["wasi:clocks/wall-clock", "wasi:cli/stdout", "wasi:io/streams"], &Grants::default());
        assert!(found.needs.is_empty() && found.granted.is_empty(), "{found:?}");
    }

    #[test]
    fn values_are_never_told() {
        let grants = grants(&["env=TZ=hunter2!", "config=region=hunter2!", "secret=path=env:PATH"]);
        let mut object = json!({});
        report(&["wasi:config/store"], &grants).describe(&mut object);
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
        let found = |plugin: &str| report(&["wasi:filesystem/types"], &config.plugin(plugin).grants);
        let all = found("all");
        assert!(all.unreachable.is_empty() && all.superfluous.is_empty(), "{all:?}");
        let names = found("names");
        assert_eq!((whats(&names.unreachable), names.superfluous), (vec!["files"], vec!["roots"]));
    }

    #[test]
    fn what_every_standard_library_imports_is_told_when_it_is_granted() {
        let imports = ["wasi:cli/environment", "wasi:sockets/tcp"];
        let told = report(&imports, &Grants::default());
        assert_eq!(told.lines(), ["would need sockets (never granted)", "cannot reach sockets"]);
        assert_eq!(whats(&told.unreachable), ["sockets", "environment variables"], "programs are told all");
        let told = report(&imports, &grants(&["env=TZ=UTC"]));
        assert!(told.superfluous.is_empty() && told.lines().contains(&"may see the variables TZ".to_owned()));
    }
}
