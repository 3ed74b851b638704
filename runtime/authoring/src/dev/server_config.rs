//! The configuration of a project's server: the file of `--config`, the project's own, or none until the project has
//! one.

use std::path::{Path, PathBuf};

use plugport_common::{CommandError, FileStat, console, shell_quote};

use super::project::Project;
use super::workdir::Workdir;
use crate::cli;
use crate::server_access::{ServerAccess, ServerPaths};

/// The name of the project's own configuration.
const DEFAULT_NAME: &str = "plugport.toml";

/// The configuration that the server is started with.
pub(super) struct DevServerConfig {
    paths: ServerPaths,
    pub(super) file: Option<PathBuf>,
    /// The folder at which relative paths start.
    base: PathBuf,
}

impl DevServerConfig {
    /// Reads the configuration here too, so that mistakes are reported before anything starts.
    pub(super) fn read(
        args: &cli::Dev,
        project: &Project,
        workdir: &Workdir,
        access: &dyn ServerAccess,
    ) -> Result<Self, CommandError> {
        let own = project.root.join(DEFAULT_NAME);
        let named = args.config.as_deref().map(with_canonical_folder);
        let file = named.or_else(|| own.is_file().then_some(own));
        Self::of(file, workdir, args.listen.as_deref(), access).map_err(CommandError::Usage)
    }

    fn of(
        file: Option<PathBuf>,
        workdir: &Workdir,
        listen: Option<&str>,
        access: &dyn ServerAccess,
    ) -> anyhow::Result<Self> {
        let paths = access.read_config(file.as_deref(), &workdir.plugins, listen)?;
        let base = file.as_deref().and_then(Path::parent).unwrap_or(&workdir.folder).to_owned();
        Ok(Self { paths, file, base })
    }

    /// Whether a component may load sources as data. An approval is of a component, and says nothing of such data.
    pub(super) fn loads_sources(&self) -> bool {
        !self.paths.approves
    }

    /// The command that shows the status of this server, and if it needs approvals the one that approves its plugin.
    pub(super) fn commands(&self, workdir: &Workdir) -> Vec<String> {
        let (plugins, folder) = (shell_quote(&workdir.plugins), shell_quote(&workdir.folder));
        let [status, approve] = match &self.file {
            Some(file) => {
                let file = shell_quote(file);
                [
                    format!("plugport status --config {file}"),
                    format!("plugport approve --config {file} --plugins {plugins}"),
                ]
            }
            // Without a configuration, the lockfile is in the folder where the server starts.
            None => ["plugport status".to_owned(), format!("(cd {folder} && plugport approve)")],
        };
        let approve = self.paths.approves.then(|| format!("to approve what it serves: {approve}"));
        std::iter::once(format!("status of the server: {status}")).chain(approve).collect()
    }

    /// The path of the audit; `None` if it is disabled.
    pub(super) fn audit(&self) -> Option<PathBuf> {
        if !self.paths.audit_enabled {
            console::eprint("calls are not shown, since `enabled = false` is written under [audit]");
            return None;
        }
        self.paths.audit.as_ref().map(|file| self.base.join(file))
    }

    /// The paths that the server and its plugins may write to; changes there are not changes of sources.
    pub(super) fn written(&self) -> impl Iterator<Item = PathBuf> {
        self.paths.written.iter().map(|path| self.base.join(path))
    }
}

/// The path with a canonical folder: paths in the file are compared with the project's.
fn with_canonical_folder(file: &Path) -> PathBuf {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    match (file.parent().and_then(|folder| folder.canonicalize().ok()), file.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => file,
    }
}

/// Waits for the project's own configuration while there is none.
pub(super) struct MissingConfig {
    file: Option<PathBuf>,
    /// The stat of the file when it had mistakes.
    rejected: Option<FileStat>,
    listen: Option<String>,
    access: &'static dyn ServerAccess,
}

impl MissingConfig {
    pub(super) fn new(
        settings: &DevServerConfig,
        project: &Project,
        listen: Option<&str>,
        access: &'static dyn ServerAccess,
    ) -> Self {
        let file = settings.file.is_none().then(|| project.root.join(DEFAULT_NAME));
        Self { file, rejected: None, listen: listen.map(str::to_owned), access }
    }

    /// Reads the configuration once it exists. Mistakes are reported, and the file is read again when it has changed.
    pub(super) fn read(&mut self, workdir: &Workdir) -> Option<DevServerConfig> {
        let file = self.file.as_ref().filter(|file| file.is_file())?;
        let stat = FileStat::of(file).ok().flatten();
        if stat.is_none() || stat == self.rejected {
            return None;
        }
        match DevServerConfig::of(Some(file.clone()), workdir, self.listen.as_deref(), self.access) {
            Ok(settings) => Some(settings),
            Err(error) => {
                console::report(&error);
                console::eprint("  the server goes on without it");
                self.rejected = stat;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_access::{DevLoad, Loading};

    /// A server whose configuration is the name of its state folder.
    struct NamesItsState;

    impl ServerAccess for NamesItsState {
        fn load<'a>(&'a self, _: &'a str, _: &'a Path, _: Option<DevLoad<'a>>) -> Loading<'a> {
            unreachable!()
        }

        fn read_config(&self, file: Option<&Path>, _: &Path, _: Option<&str>) -> anyhow::Result<ServerPaths> {
            let state = file.map_or_else(|| Ok("state".to_owned()), std::fs::read_to_string)?;
            anyhow::ensure!(!state.contains('['), "it has mistakes");
            let state = PathBuf::from(state);
            let audit = Some(state.join("audit.jsonl"));
            Ok(ServerPaths { audit_enabled: true, audit, written: vec![state], approves: false })
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
        let own = read(&args).unwrap();
        assert_eq!(own.audit(), Some(workdir.folder.join("state/audit.jsonl")));
        assert!(own.commands(&workdir)[0].ends_with(": plugport status"));
        std::fs::write(root.join(DEFAULT_NAME), "kept").unwrap();
        let own = read(&args).unwrap();
        assert_eq!(own.audit(), Some(root.join("kept/audit.jsonl")));
        assert_eq!(own.written().collect::<Vec<_>>(), [root.join("kept")]);
        let file = root.join(DEFAULT_NAME).display().to_string();
        assert_eq!(
            own.commands(&workdir),
            [format!("status of the server: plugport status --config {file}")]
        );
        let mut approving = read(&args).unwrap();
        approving.paths.approves = true;
        assert!(
            approving.commands(&workdir)[1].contains("plugport approve --config ") && own.loads_sources()
        );
        assert!(!approving.loads_sources());
        args.config = Some(root.join("none.toml"));
        assert!(matches!(read(&args), Err(CommandError::Usage(_))));
    }

    #[test]
    fn a_configuration_that_turns_up_is_read_once_it_is_right() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let workdir = Workdir::make(&root).unwrap();
        let file = root.join(DEFAULT_NAME);
        let mut missing_config =
            MissingConfig { file: Some(file.clone()), rejected: None, listen: None, access: &NamesItsState };
        assert!(missing_config.read(&workdir).is_none());
        std::fs::write(&file, "[serv").unwrap();
        assert!(missing_config.read(&workdir).is_none() && missing_config.rejected.is_some());
        std::fs::write(&file, "kept").unwrap();
        assert_eq!(missing_config.read(&workdir).unwrap().file, Some(file));
    }
}
