//! What the server of a project goes by: the file that was named, the project's own, or none, until there is one.

use std::path::{Path, PathBuf};

use super::place::Place;
use super::project::Project;
use crate::cli;
use crate::commands::{Failure, console};
use crate::config::Config;
use crate::observe::quoted;
use crate::reload::Stamp;

/// The usual name of the file.
const USUAL: &str = "plugport.toml";

/// What the server goes by.
pub(super) struct Settings {
    config: Config,
    pub(super) file: Option<PathBuf>,
    /// Where paths begin that are not absolute.
    base: PathBuf,
}

impl Settings {
    /// Read here, too, so that mistakes are told before anything is started.
    pub(super) fn read(args: &cli::Dev, project: &Project, place: &Place) -> Result<Self, Failure> {
        let usual = project.root.join(USUAL);
        let named = args.config.as_deref().map(whole);
        match named.or_else(|| usual.is_file().then_some(usual)) {
            Some(file) => Self::of(file, place),
            None => {
                let config = Config::new(place.plugins.clone());
                Ok(Self { config, file: None, base: place.folder.clone() })
            }
        }
    }

    fn of(file: PathBuf, place: &Place) -> Result<Self, Failure> {
        let source = cli::Source { plugins: place.plugins.clone(), config: Some(file.clone()) };
        let config = source.configuration()?;
        let base = file.parent().unwrap_or(&place.folder).to_owned();
        Ok(Self { config, file: Some(file), base })
    }

    /// The commands that ask this server how it stands, and that approve what it serves.
    pub(super) fn commands(&self, place: &Place) -> [String; 2] {
        let (plugins, folder) = (quoted(&place.plugins), quoted(&place.folder));
        let [status, approve] = match &self.file {
            Some(file) => {
                let file = quoted(file);
                [
                    format!("plugport status --config {file}"),
                    format!("plugport approve --config {file} --plugins {plugins}"),
                ]
            }
            // What is approved is noted where it is started.
            None => ["plugport status".to_owned(), format!("(cd {folder} && plugport approve)")],
        };
        [format!("how the server stands: {status}"), format!("to approve what it serves: {approve}")]
    }

    /// Where the server notes what is called; `None` when it does not.
    pub(super) fn audit(&self) -> Option<PathBuf> {
        if !self.config.audit.enabled {
            console::remark("calls are not shown, since `enabled = false` is written under [audit]");
            return None;
        }
        Some(self.base.join(self.config.audit_file()?))
    }

    /// Where the server and the plugins may write, which is no change of a source.
    pub(super) fn written(&self) -> impl Iterator<Item = PathBuf> {
        let own = [self.config.state.as_ref(), self.config.audit.file.as_ref()].into_iter().flatten();
        let dirs = self.config.plugins.values().flat_map(|plugin| &plugin.grants.dirs);
        let writable = dirs.filter(|dir| dir.write.is_some()).map(|dir| &dir.host);
        own.chain(writable).map(|path| self.base.join(path))
    }
}

/// The same file, by a way without links to its folder: places in it are compared with the project's.
fn whole(file: &Path) -> PathBuf {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    match (file.parent().and_then(|folder| folder.canonicalize().ok()), file.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => file,
    }
}

/// The project's own configuration, while there is none.
#[derive(Debug)]
pub(super) struct Awaited {
    file: Option<PathBuf>,
    /// How it looked when it had mistakes.
    refused: Option<Stamp>,
}

impl Awaited {
    pub(super) fn new(settings: &Settings, project: &Project) -> Self {
        let file = settings.file.is_none().then(|| project.root.join(USUAL));
        Self { file, refused: None }
    }

    /// What it says, once it is there. Its mistakes are told, and it is read again when it has changed.
    pub(super) fn read(&mut self, place: &Place) -> Option<Settings> {
        let file = self.file.as_ref().filter(|file| file.is_file())?;
        let stamp = Stamp::of(file).ok().flatten();
        if stamp.is_none() || stamp == self.refused {
            return None;
        }
        match Settings::of(file.clone(), place) {
            Ok(settings) => Some(settings),
            Err(Failure::Usage(error) | Failure::Failed(error)) => {
                console::report(&error);
                console::remark("  the server goes on without it");
                self.refused = stamp;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_the_server_writes_to_are_known() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::write(root.join("build.sh"), "").unwrap();
        std::fs::create_dir(root.join("data")).unwrap();
        let mut args = cli::Dev {
            project: root.clone(),
            config: None,
            listen: None,
            build: Some("sh build.sh".to_owned()),
            output: None,
        };
        let project = Project::find(&args).unwrap();
        let place = Place::make(&root).unwrap();
        let usual = Settings::read(&args, &project, &place).unwrap();
        let plugins = Config::new(place.plugins.clone());
        assert_eq!(usual.audit(), plugins.audit_file());
        let text =
            "[server]\nstate = \"kept\"\n[plugins.x.grants]\ndirs = [{ host = \"data\", write = true }]\n";
        std::fs::write(root.join("plugport.toml"), text).unwrap();
        let own = Settings::read(&args, &project, &place).unwrap();
        assert_eq!(own.audit(), Some(root.join("kept/audit.jsonl")));
        assert_eq!(own.written().collect::<Vec<_>>(), [root.join("kept"), root.join("data")]);
        assert!(usual.commands(&place)[0].ends_with(": plugport status"));
        let file = root.join(USUAL).display().to_string();
        assert!(own.commands(&place)[0].ends_with(&format!("plugport status --config {file}")));
        args.config = Some(root.join("none.toml"));
        assert!(matches!(Settings::read(&args, &project, &place), Err(Failure::Usage(_))));
    }

    #[test]
    fn a_configuration_that_turns_up_is_read_once_it_is_right() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let place = Place::make(&root).unwrap();
        let file = root.join(USUAL);
        let mut awaited = Awaited { file: Some(file.clone()), refused: None };
        assert!(awaited.read(&place).is_none());
        std::fs::write(&file, "[serv").unwrap();
        assert!(awaited.read(&place).is_none() && awaited.refused.is_some());
        std::fs::write(&file, "[server]\nstate = \"kept\"\n").unwrap();
        assert_eq!(awaited.read(&place).unwrap().file, Some(file));
    }
}
