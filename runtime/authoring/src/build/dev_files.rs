//! The files that a build makes for `plugport dev`: a component, the sources that it loads as data, and a record of
//! what the component was made of.
//!
//! The record is missing while the component is replaced, so a build that is killed leaves none that is wrong.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::error::BuildError;
use super::output;
use crate::atomic_write::atomic_write;
use crate::cli;
use crate::project::dev_record;
use crate::server_access::{DevLoad, ServerAccess};

/// How the SDKs begin the errors of a plugin that cannot load its sources, and of one that lacks what they need.
const FAILED: &str = "the sources cannot be loaded:\n";
const NEEDS_BUILD: &str = "the plugin has to be built again:\n";

/// Maximum bytes of sources that are loaded as data: each instance reads all of them.
pub(super) const MAX_SOURCES: usize = 1 << 20;

/// The files of one project.
#[derive(Debug)]
pub(super) struct DevFiles {
    component: PathBuf,
    sources: PathBuf,
    /// The digest of the project's files that cannot be data.
    others: String,
    /// The server's configuration, if it has one.
    config: Option<PathBuf>,
}

/// A component that can load other sources.
#[derive(Debug)]
pub(super) struct Base {
    /// All that the component was made of, besides its sources.
    pub(super) made_of: String,
    /// The sources that it has.
    pub(super) sources: String,
}

/// Whether a component loads sources.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Loads,
    /// It lacks something, in the language's words.
    NeedsBuild(String),
}

impl DevFiles {
    /// Those that the command line names; `None` if the build is not for `dev`.
    pub(super) fn of(args: &cli::Build) -> Option<Self> {
        let (component, sources) = (args.output.clone()?, args.dev_sources.clone()?);
        let others = args.dev_others.clone().unwrap_or_default();
        Some(Self { component, sources, others, config: args.dev_config.clone() })
    }

    /// A description of a component: `parts`, and what of the project cannot be data.
    pub(super) fn made_of(&self, parts: &[String]) -> String {
        digest(&format!("{} {} {}", env!("CARGO_PKG_VERSION"), self.others, parts.join("\n")))
    }

    /// Whether the component is made of this. Then, whether it has these sources.
    pub(super) fn is_made_of(&self, made_of: &str, sources: &str) -> Option<bool> {
        let record = std::fs::read_to_string(self.record()).ok()?;
        let had = record.strip_prefix(&self.record_of(made_of))?;
        Some(had == digest(sources))
    }

    /// Asks the component whether it loads these sources.
    pub(super) async fn check(
        &self,
        name: &str,
        sources: &str,
        access: &dyn ServerAccess,
    ) -> Result<Verdict, BuildError> {
        let dev = DevLoad { sources, config: self.config.as_deref() };
        let Err(error) = access.load(name, &self.component, Some(dev)).await else {
            return Ok(Verdict::Loads);
        };
        let told = |start| error.chain().find_map(|cause| after(&cause.to_string(), start));
        if let Some(told) = told(NEEDS_BUILD) {
            return Ok(Verdict::NeedsBuild(told));
        }
        // Another error may be due to a grant or a limit, which the server knows.
        told(FAILED).map_or(Ok(Verdict::Loads), |told| Err(BuildError::Unloadable(told)))
    }

    /// Has these sources loaded; if there are none, the component uses its own.
    pub(super) fn put_sources(&self, sources: &str) -> Result<(), BuildError> {
        let unwritable = |error| BuildError::Unwritable(self.sources.clone(), error);
        atomic_write(&self.sources, sources.as_bytes()).map_err(unwritable)
    }

    /// Replaces the component. `base`: it can load other sources.
    pub(super) fn put_component(&self, bytes: &[u8], base: Option<&Base>) -> Result<(), BuildError> {
        let record = self.record();
        let _ = std::fs::remove_file(&record);
        output::write(self.component.clone(), bytes)?;
        self.put_sources("")?;
        let Some(Base { made_of, sources }) = base else { return Ok(()) };
        let text = self.record_of(made_of) + &digest(sources);
        atomic_write(&record, text.as_bytes()).map_err(|error| BuildError::Unwritable(record, error))
    }

    /// The beginning of the record of the component that is there: another build may have replaced it.
    fn record_of(&self, made_of: &str) -> String {
        format!("{made_of} {} ", digest(&tool_stamp(&self.component)))
    }

    fn record(&self) -> PathBuf {
        dev_record::path(&self.sources)
    }
}

/// What makes a tool's file another one: its path, size and time.
pub(super) fn tool_stamp(tool: &Path) -> String {
    let about = std::fs::metadata(tool).map(|about| (about.len(), about.modified().ok()));
    format!("{} {about:?}", tool.display())
}

fn after(text: &str, start: &str) -> Option<String> {
    text.split_once(start).map(|(_, rest)| rest.to_owned())
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_access::test_server::FailsToLoad;

    fn files(folder: &Path) -> DevFiles {
        DevFiles {
            component: folder.join("built.wasm"),
            sources: folder.join("built.sources"),
            others: "1".to_owned(),
            config: None,
        }
    }

    #[test]
    fn a_component_is_known_by_all_that_it_was_made_of() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        let parts = |tool: &str| [tool.to_owned(), "world".to_owned()];
        let made_of = files.made_of(&parts("tool 1"));
        assert_eq!(files.is_made_of(&made_of, "a"), None);
        let base = Base { made_of: made_of.clone(), sources: "a".to_owned() };
        files.put_component(b"component", Some(&base)).unwrap();
        assert_eq!(files.is_made_of(&made_of, "a"), Some(true));
        assert_eq!(files.is_made_of(&made_of, "b"), Some(false));
        assert_eq!(files.is_made_of(&files.made_of(&parts("tool 2")), "a"), None);
        let other = DevFiles { others: "2".to_owned(), ..self::files(dir.path()) };
        assert_ne!(other.made_of(&parts("tool 1")), made_of);
        files.put_sources("b").unwrap();
        assert_eq!(files.is_made_of(&made_of, "a"), Some(true));
        dev_record::forget(&files.sources);
        assert_eq!(files.is_made_of(&made_of, "a"), None);
        files.put_component(b"component", Some(&base)).unwrap();
        std::fs::write(&files.component, b"of another build").unwrap();
        assert_eq!(files.is_made_of(&made_of, "a"), None);
        files.put_component(b"another", None).unwrap();
        assert_eq!(files.is_made_of(&made_of, "a"), None);
        assert_eq!(std::fs::read_to_string(&files.sources).unwrap(), "");
    }

    #[tokio::test]
    async fn what_the_component_says_of_its_sources_is_told_from_other_failures() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        let check = async |why: &'static str| files.check("x", "", &FailsToLoad(why)).await;
        assert_eq!(check("it needs a grant").await.unwrap(), Verdict::Loads);
        let needs = check("failed to list: the plugin has to be built again:\nNo module named 'x'").await;
        assert_eq!(needs.unwrap(), Verdict::NeedsBuild("No module named 'x'".to_owned()));
        let failed = check("failed to list: the sources cannot be loaded:\nSyntaxError").await;
        assert!(matches!(failed, Err(BuildError::Unloadable(told)) if told == "SyntaxError"));
    }
}
