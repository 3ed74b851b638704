//! `plugport dev`: builds a project whenever its source changes, and serves the result.
//!
//! There are three processes: this one watches, a build runs from time to time, and a server, the same as `plugport
//! serve`, watches the folder with the last good build. So an author sees what an operator will see, and a build that
//! fails changes nothing. The server starts first: clients can connect while the first build runs, use the last version
//! until then, and get `list_changed` for the new one.

mod audit_tail;
mod backoff;
mod build_process;
mod built_file;
mod call_timings;
mod change_tracker;
mod dev_loop;
mod install_hints;
mod project;
mod server_config;
mod server_process;
mod source_watcher;
mod sources;
mod walk;
mod workdir;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use plugport_common::{CommandError, console};

use crate::cli;
use crate::project::dev_record;
use crate::project::language::Language;
use crate::server_access::ServerAccess;
use crate::signals::Signals;
use audit_tail::AuditTail;
use call_timings::CallTimings;
use dev_loop::{DevLoop, LoopEnd};
use project::Project;
use server_config::DevServerConfig;
use server_process::ServerProcess;
use workdir::Workdir;

pub(crate) async fn run(
    args: cli::Dev,
    log: &str,
    access: &'static dyn ServerAccess,
) -> Result<ExitCode, CommandError> {
    let project = Project::find(&args).map_err(|error| CommandError::Usage(error.into()))?;
    if let Some(address) = &args.listen {
        access.check_listen(address).map_err(CommandError::Usage)?;
    }
    if let Some(folder) = project.unshipped() {
        console::eprint(&format!(
            "`{}` does not put the files of {folder}/ into the component; `plugport build` does",
            project.recipe.in_words()
        ));
    }
    let workdir = Workdir::make(&project.root).context("cannot make the folder for the built component")?;
    if project.language == Some(Language::Python) {
        dev_record::forget(&workdir::built_sources(&project.root));
    }
    let mut settings = DevServerConfig::read(&args, &project, &workdir, access)?;
    let mut context = DevContext {
        project: Arc::new(project),
        workdir,
        signals: Signals::listen()?,
        listen: args.listen,
        log,
        access,
    };
    while let Some(new) = context.serve(&settings).await? {
        settings = new;
        console::eprint("there is a plugport.toml now; the server restarts with it");
    }
    Ok(ExitCode::SUCCESS)
}

/// What stays the same when the configuration changes.
struct DevContext<'a> {
    project: Arc<Project>,
    workdir: Workdir,
    signals: Signals,
    listen: Option<String>,
    log: &'a str,
    access: &'static dyn ServerAccess,
}

impl DevContext<'_> {
    /// Builds and serves until a signal, or until there is a new configuration.
    async fn serve(&mut self, settings: &DevServerConfig) -> Result<Option<DevServerConfig>, CommandError> {
        // Opened before the server can write to it.
        let audit = settings.audit().map(AuditTail::from_end);
        let listen = self.listen.as_deref();
        let mut server =
            ServerProcess::start(&self.project, &self.workdir, settings, listen, self.log, self.access)?;
        let timings = audit.map(CallTimings::start);
        for line in settings.commands(&self.workdir) {
            console::eprint(&line);
        }
        let mut dev_loop =
            DevLoop::new(Arc::clone(&self.project), self.workdir.clone(), settings, listen, self.access);
        let outcome = dev_loop.run(&mut server, &mut self.signals).await;
        dev_loop.stop().await;
        let interrupted = server.stop(&mut self.signals).await;
        if let Some(timings) = timings {
            timings.stop().await;
        }
        Ok(match outcome? {
            LoopEnd::Reconfigured(new) if !interrupted => Some(*new),
            LoopEnd::Reconfigured(_) | LoopEnd::Stopped => None,
        })
    }
}
