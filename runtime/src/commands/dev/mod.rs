//! `plugport dev`: build a project whenever its source changes, and serve what came of it.
//!
//! Three processes: this one watches, a build runs beside it now and then, and a server that is no other than `plugport
//! serve` follows the folder into which the last good build is put. So an author sees what an operator will see, and a
//! build that fails changes nothing. The server is there from the beginning: clients can connect while the first build
//! runs, have the version from the day before until then, and hear of the new one.

mod advice;
mod build;
mod follow;
mod ledger;
pub(super) mod lines;
mod output;
mod pace;
pub(super) mod place;
mod project;
mod server;
mod settings;
pub(super) mod signals;
mod sources;
mod tail;
mod timings;
mod walk;
mod watch;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;

use super::{Failure, console};
use crate::cli;
use crate::config::{ConfigError, parse_listen};
use follow::{End, Loop};
use place::Place;
use project::Project;
use server::Server;
use settings::Settings;
use signals::Signals;
use tail::Tail;
use timings::Timings;

pub(super) async fn run(args: cli::Dev, log: &str) -> Result<ExitCode, Failure> {
    let project = Project::find(&args).map_err(|error| Failure::Usage(error.into()))?;
    if let Some(address) = &args.listen {
        parse_listen(address).map_err(|why| ConfigError::Argument(format!("--listen: {why}")))?;
    }
    let place = Place::make(&project.root).context("there is no place for what is built")?;
    let mut settings = Settings::read(&args, &project, &place)?;
    let mut session =
        Session { project: Arc::new(project), place, signals: Signals::listen()?, listen: args.listen, log };
    while let Some(new) = session.serve(&settings).await? {
        settings = new;
        console::remark("there is a plugport.toml now; the server starts anew with it");
    }
    Ok(ExitCode::SUCCESS)
}

/// What stays the same whichever settings hold.
struct Session<'a> {
    project: Arc<Project>,
    place: Place,
    signals: Signals,
    listen: Option<String>,
    log: &'a str,
}

impl Session<'_> {
    /// Builds and serves until told to stop, or until there are other settings.
    async fn serve(&mut self, settings: &Settings) -> Result<Option<Settings>, Failure> {
        // Before the server can add anything to it.
        let audit = settings.audit().map(Tail::from_end);
        let mut server =
            Server::start(&self.place, settings.file.as_deref(), self.listen.as_deref(), self.log)?;
        let timings = audit.map(Timings::of);
        for line in settings.commands(&self.place) {
            console::remark(&line);
        }
        let mut project = Loop::new(Arc::clone(&self.project), self.place.clone(), settings);
        let outcome = project.follow(&mut server, &mut self.signals).await;
        project.stop().await;
        let interrupted = server.stop(&mut self.signals).await;
        if let Some(timings) = timings {
            timings.stop().await;
        }
        Ok(match outcome? {
            End::Reconfigured(new) if !interrupted => Some(*new),
            End::Reconfigured(_) | End::Stopped => None,
        })
    }
}
