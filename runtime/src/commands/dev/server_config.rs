//! The configuration of the server of a project: the file that was named, the project's own, or none, until there is one.

use std::path::{Path, PathBuf};

use super::project::Project;
use super::workdir::Workdir;
use crate::cli;
use crate::commands::{CommandError, console};
use crate::config::Config;
use crate::observe::shell_quote;
use crate::watch::FileStat;

/// The usual name of the file.
const USUAL: &str = "plugport.toml";

/// The configuration that the server is started with.
pub(super) struct DevServerConfig {
    config: Config,
    pub(super) file: Option<PathBuf>,
    /// Where paths begin that are not absolute.
    base: PathBuf,
}

impl DevServerConfig {
    /// Read here, too, so that mistakes are told before anything is started.
    pub(super) fn read(args: &cli::Dev, project: &Project, workdir: &Workdir) -> Result<Self, CommandError> {
        let usual = project.root.join(USUAL);
        let named = args.config.as_deref().map(whole);
        match named.or_else(|| usual.is_file().then_some(usual)) {
            Some(file) => Self::of(file, workdir),
            None => {
                let config = Config::new(workdir.plugins.clone());
                Ok(Self { config, file: None, base: workdir.folder.clone() })
            }
        }
    }

    fn of(file: PathBuf, workdir: &Workdir) -> Result<Self, CommandError> {
        let source = cli::Source { plugins: workdir.plugins.clone(), config: Some(file.clone()) };
        let config = source.configuration()?;
        let base = file.parent().unwrap_or(&workdir.folder).to_owned();
        Ok(Self { config, file: Some(file), base })
    }

    /// The commands that ask this server how it stands, and that approve what it serves.
    pub(super) fn commands(&self, workdir: &Workdir) -> [String; 2] {
        let (plugins, folder) = (shell_quote(&workdir.plugins), shell_quote(&workdir.folder));
        let [status, approve] = match &self.file {
            Some(file) => {
                let file = shell_quote(file);
                [
                    format!("plugport status --config {file}"),
                    format!("plugport approve --config {file} --plugins {plugins}"),
                ]
            }
            // What is approved is noted where it is started.
            None => ["plugport status".to_owned(), format!("(cd {folder} && plugport approve)")],
        };
        [format!("status of the server: {status}"), format!("to approve what it serves: {approve}")]
    }

    /// Where the server notes what is called; `None` when it does not.
    pub(super) fn audit(&self) -> Option<PathBuf> {
        if !self.config.audit.enabled {
            console::eprint("calls are not shown, since `enabled = false` is written under [audit]");
            return None;
        }
        Some(self.base.join(self.config.audit_file()?))
    }

    /// Where the server and the plugins may write, which is no change of a source.
    pub(super) fn written(&self) -> impl Iterator<Item = PathBuf> {
        let own = [self.config.state_dir.as_ref(), self.config.audit.file.as_ref()].into_iter().flatten();
        let dirs = self.config.plugins.values().flat_map(|plugin| &plugin.grants.filesystem);
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
pub(super) struct MissingConfig {
    file: Option<PathBuf>,
    /// How it looked when it had mistakes.
    refused: Option<FileStat>,
}

impl MissingConfig {
    pub(super) fn new(settings: &DevServerConfig, project: &Project) -> Self {
        let file = settings.file.is_none().then(|| project.root.join(USUAL));
        Self { file, refused: None }
    }

    /// What it says, once it is there. Its mistakes are told, and it is read again when it has changed.
    pub(super) fn read(&mut self, workdir: &Workdir) -> Option<DevServerConfig> {
        let file = self.file.as_ref().filter(|file| file.is_file())?;
        let stamp = FileStat::of(file).ok().flatten();
        if stamp.is_none() || stamp == self.refused {
            return None;
        }
        match DevServerConfig::of(file.clone(), workdir) {
            Ok(settings) => Some(settings),
            Err(CommandError::Usage(error) | CommandError::Failed(error)) => {
                console::report(&error);
                console::eprint("  the server goes on without it");
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
        let workdir = Workdir::make(&root).unwrap();
        let usual = DevServerConfig::read(&args, &project, &workdir).unwrap();
        let plugins = Config::new(workdir.plugins.clone());
        assert_eq!(usual.audit(), plugins.audit_file());
        let text = "[server]\nstate_dir = \"kept\"\n[plugins.x.grants]\ndirs = [{ host = \"data\", write = true }]\n";
        std::fs::write(root.join("plugport.toml"), text).unwrap();
        let own = DevServerConfig::read(&args, &project, &workdir).unwrap();
        assert_eq!(own.audit(), Some(root.join("kept/audit.jsonl")));
        assert_eq!(own.written().collect::<Vec<_>>(), [root.join("kept"), root.join("data")]);
        assert!(usual.commands(&workdir)[0].ends_with(": plugport status"));
        let file = root.join(USUAL).display().to_string();
        assert!(own.commands(&workdir)[0].ends_with(&format!("plugport status --config {file}")));
        args.config = Some(root.join("none.toml"));
        assert!(matches!(DevServerConfig::read(&args, &project, &workdir), Err(CommandError::Usage(_))));
    }

    #[test]
    fn a_configuration_that_turns_up_is_read_once_it_is_right() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let workdir = Workdir::make(&root).unwrap();
        let file = root.join(USUAL);
        let mut missing_config = MissingConfig { file: Some(file.clone()), refused: None };
        assert!(missing_config.read(&workdir).is_none());
        std::fs::write(&file, "[serv").unwrap();
        assert!(missing_config.read(&workdir).is_none() && missing_config.refused.is_some());
        std::fs::write(&file, "[server]\nstate_dir = \"kept\"\n").unwrap();
        assert_eq!(missing_config.read(&workdir).unwrap().file, Some(file));
    }
}
