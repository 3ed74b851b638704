//! The configuration of the server of a project: the file that was named, the project's own, or none, until there is
//! one.

use std::path::{Path, PathBuf};

use plugport_common::{CommandError, FileStat, console, shell_quote};

use super::project::Project;
use super::workdir::Workdir;
use crate::cli;
use crate::server_access::{ServerAccess, ServerPaths};

/// The usual name of the file.
const USUAL: &str = "plugport.toml";

/// The configuration that the server is started with.
pub(super) struct DevServerConfig {
    paths: ServerPaths,
    pub(super) file: Option<PathBuf>,
    /// Where paths begin that are not absolute.
    base: PathBuf,
}

impl DevServerConfig {
    /// Read here, too, so that mistakes are told before anything is started.
    pub(super) fn read(
        args: &cli::Dev,
        project: &Project,
        workdir: &Workdir,
        access: &dyn ServerAccess,
    ) -> Result<Self, CommandError> {
        let usual = project.root.join(USUAL);
        let named = args.config.as_deref().map(whole);
        let file = named.or_else(|| usual.is_file().then_some(usual));
        Self::of(file, workdir, access).map_err(CommandError::Usage)
    }

    fn of(file: Option<PathBuf>, workdir: &Workdir, access: &dyn ServerAccess) -> anyhow::Result<Self> {
        let paths = access.read_config(file.as_deref(), &workdir.plugins)?;
        let base = file.as_deref().and_then(Path::parent).unwrap_or(&workdir.folder).to_owned();
        Ok(Self { paths, file, base })
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
        if !self.paths.audit_enabled {
            console::eprint("calls are not shown, since `enabled = false` is written under [audit]");
            return None;
        }
        self.paths.audit.as_ref().map(|file| self.base.join(file))
    }

    /// Where the server and the plugins may write, which is no change of a source.
    pub(super) fn written(&self) -> impl Iterator<Item = PathBuf> {
        self.paths.written.iter().map(|path| self.base.join(path))
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
pub(super) struct MissingConfig {
    file: Option<PathBuf>,
    /// How it looked when it had mistakes.
    refused: Option<FileStat>,
    access: &'static dyn ServerAccess,
}

impl MissingConfig {
    pub(super) fn new(
        settings: &DevServerConfig,
        project: &Project,
        access: &'static dyn ServerAccess,
    ) -> Self {
        let file = settings.file.is_none().then(|| project.root.join(USUAL));
        Self { file, refused: None, access }
    }

    /// What it says, once it is there. Its mistakes are told, and it is read again when it has changed.
    pub(super) fn read(&mut self, workdir: &Workdir) -> Option<DevServerConfig> {
        let file = self.file.as_ref().filter(|file| file.is_file())?;
        let stamp = FileStat::of(file).ok().flatten();
        if stamp.is_none() || stamp == self.refused {
            return None;
        }
        match DevServerConfig::of(Some(file.clone()), workdir, self.access) {
            Ok(settings) => Some(settings),
            Err(error) => {
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
    use crate::server_access::Loading;

    /// A server whose configuration is the name of its state folder.
    struct NamesItsState;

    impl ServerAccess for NamesItsState {
        fn load<'a>(&'a self, _: &'a str, _: &'a Path) -> Loading<'a> {
            unreachable!()
        }

        fn read_config(&self, file: Option<&Path>, _: &Path) -> anyhow::Result<ServerPaths> {
            let state = file.map_or_else(|| Ok("state".to_owned()), std::fs::read_to_string)?;
            anyhow::ensure!(!state.contains('['), "it has mistakes");
            let state = PathBuf::from(state);
            let audit = Some(state.join("audit.jsonl"));
            Ok(ServerPaths { audit_enabled: true, audit, written: vec![state] })
        }

        fn check_listen(&self, _: &str) -> anyhow::Result<()> {
            Ok(())
        }

        fn is_nothing_published(&self, _: &str) -> bool {
            false
        }
    }

    #[test]
    fn the_projects_own_configuration_is_used_and_paths_begin_in_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let mut args = cli::Dev {
            project: root.clone(),
            config: None,
            listen: None,
            build: Some("sh build.sh".to_owned()),
            output: None,
        };
        let project = Project::find(&args).unwrap();
        let workdir = Workdir::make(&root).unwrap();
        let read = |args: &cli::Dev| DevServerConfig::read(args, &project, &workdir, &NamesItsState);
        let usual = read(&args).unwrap();
        assert_eq!(usual.audit(), Some(workdir.folder.join("state/audit.jsonl")));
        assert!(usual.commands(&workdir)[0].ends_with(": plugport status"));
        std::fs::write(root.join(USUAL), "kept").unwrap();
        let own = read(&args).unwrap();
        assert_eq!(own.audit(), Some(root.join("kept/audit.jsonl")));
        assert_eq!(own.written().collect::<Vec<_>>(), [root.join("kept")]);
        let file = root.join(USUAL).display().to_string();
        assert!(own.commands(&workdir)[0].ends_with(&format!("plugport status --config {file}")));
        args.config = Some(root.join("none.toml"));
        assert!(matches!(read(&args), Err(CommandError::Usage(_))));
    }

    #[test]
    fn a_configuration_that_turns_up_is_read_once_it_is_right() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let workdir = Workdir::make(&root).unwrap();
        let file = root.join(USUAL);
        let mut missing_config =
            MissingConfig { file: Some(file.clone()), refused: None, access: &NamesItsState };
        assert!(missing_config.read(&workdir).is_none());
        std::fs::write(&file, "[serv").unwrap();
        assert!(missing_config.read(&workdir).is_none() && missing_config.refused.is_some());
        std::fs::write(&file, "kept").unwrap();
        assert_eq!(missing_config.read(&workdir).unwrap().file, Some(file));
    }
}
