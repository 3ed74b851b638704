//! `plugport dev`: build a project whenever its source changes, and serve what came of it.
//!
//! Three processes: this one watches, a build runs beside it now and then, and a server that is no other than `plugport
//! serve` follows the folder into which the last good build is put. So an author sees what an operator will see, and a
//! build that fails changes nothing. The server is there from the beginning: clients can connect while the first build
//! runs, have the version from the day before until then, and hear of the new one.

mod advice;
mod build;
mod lines;
mod output;
pub(super) mod place;
mod project;
mod server;
mod signals;
mod sources;
mod tail;
mod timings;
mod walk;
mod watch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use tokio::task::spawn_blocking;

use super::{Failure, console};
use crate::cli;
use crate::config::{AuditConfig, Config, ConfigError, parse_listen};
use build::{Build, BuildError};
use output::Made;
use place::Place;
use project::{Project, Recipe};
use server::Server;
use signals::Signals;
use sources::{Ledger, Sources};
use tail::Tail;
use timings::Timings;
use watch::Watch;

pub(super) async fn run(args: cli::Dev, log: &str) -> Result<ExitCode, Failure> {
    let project = Project::find(&args).map_err(|error| Failure::Usage(error.into()))?;
    if let Some(address) = &args.listen {
        parse_listen(address).map_err(|why| ConfigError::Argument(format!("--listen: {why}")))?;
    }
    let place = Place::make(&project.root).context("there is no place for what is built")?;
    let settings = Settings::read(&args, &project, &place)?;
    let mut signals = Signals::listen()?;
    // Before the server can add anything to it.
    let audit = settings.audit().map(Tail::from_end);
    let mut server = Server::start(&place, settings.file.as_deref(), args.listen.as_deref(), log)?;
    let timings = audit.map(Timings::of);
    let mut project = Loop::new(project, place, &settings);
    let outcome = project.follow(&mut server, &mut signals).await;
    if let Some(build) = project.building {
        build.stop().await;
    }
    server.stop(&mut signals).await;
    if let Some(timings) = timings {
        timings.stop().await;
    }
    outcome.map(|()| ExitCode::SUCCESS)
}

/// What the server goes by.
struct Settings {
    config: Config,
    file: Option<PathBuf>,
    /// Where paths begin that are not absolute.
    base: PathBuf,
}

impl Settings {
    /// Read here, too, so that mistakes are told before anything is started.
    fn read(args: &cli::Dev, project: &Project, place: &Place) -> Result<Self, Failure> {
        let usual = project.root.join("plugport.toml");
        let named = args.config.as_deref().map(whole);
        let Some(file) = named.or_else(|| usual.is_file().then_some(usual)) else {
            let config = Config::new(place.plugins.clone());
            return Ok(Self { config, file: None, base: place.folder.clone() });
        };
        let source = cli::Source { plugins: place.plugins.clone(), config: Some(file.clone()) };
        let config = source.configuration()?;
        let base = file.parent().unwrap_or(&project.root).to_owned();
        Ok(Self { config, file: Some(file), base })
    }

    /// Where the server notes what is called; `None` when it does not.
    fn audit(&self) -> Option<PathBuf> {
        let AuditConfig { enabled, file, .. } = &self.config.audit;
        if !enabled {
            console::remark("calls are not shown, since `enabled = false` is written under [audit]");
            return None;
        }
        let file = file.clone().unwrap_or_else(|| self.config.state.join(AuditConfig::FILE));
        Some(self.base.join(file))
    }

    /// Where the server and the plugins may write, which is no change of a source.
    fn written(&self) -> impl Iterator<Item = PathBuf> {
        let own = [Some(&self.config.state), self.config.audit.file.as_ref()].into_iter().flatten();
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

/// The project, as it is watched and built.
struct Loop {
    project: Arc<Project>,
    place: Place,
    watch: Watch,
    ledger: Ledger,
    building: Option<Build>,
}

impl Loop {
    fn new(project: Project, place: Place, settings: &Settings) -> Self {
        let others = settings.written().chain(project.output.clone());
        let watch = Watch::new(Sources::new(project.root.clone(), others));
        let lock = project.root.join("Cargo.lock");
        let ledger = match project.recipe {
            Recipe::Cargo => Ledger::new([lock], false),
            Recipe::Npm | Recipe::Make | Recipe::Given(_) => Ledger::new([], true),
        };
        Self { project: Arc::new(project), place, watch, ledger, building: None }
    }

    /// Builds at once and after every change, until told to stop.
    async fn follow(&mut self, server: &mut Server, signals: &mut Signals) -> Result<(), Failure> {
        let _ = self.changes().await;
        console::remark(&format!("building with: {}", self.project.recipe.in_words()));
        self.building = Some(Build::begin(Arc::clone(&self.project)));
        loop {
            tokio::select! {
                made = ended(&mut self.building) => self.finish(made).await,
                () = self.watch.hinted() => {
                    let changes = self.changes().await;
                    self.build_anew(&changes).await;
                }
                status = server.ended() => {
                    let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                    let why = "the server has ended, as it says above; mend that and start again";
                    return Err(Failure::Failed(anyhow!(how).context(why)));
                }
                () = signals.stopped() => return Ok(()),
            }
        }
    }

    /// The sources that have changed since this was asked last, but for what the build has written.
    async fn changes(&mut self) -> Vec<PathBuf> {
        match self.watch.look().await {
            Some(files) => self.ledger.note(files, self.building.is_some()),
            None => Vec::new(),
        }
    }

    /// Begins a build if there are changes, and ends the one that does not know of them.
    async fn build_anew(&mut self, changes: &[PathBuf]) {
        let Some(first) = changes.first() else { return };
        let first = first.strip_prefix(&self.project.root).unwrap_or(first).display();
        let others = match changes.len() {
            1 => String::new(),
            several => format!(" and {} more", several - 1),
        };
        console::remark(&format!("changed: {first}{others}; building"));
        if let Some(build) = self.building.take() {
            build.stop().await;
        }
        self.building = Some(Build::begin(Arc::clone(&self.project)));
    }

    /// Serves what was built, or says why there is nothing new.
    async fn finish(&mut self, made: Result<Made, BuildError>) {
        // While it is still known that what has changed may be the build's.
        let changes = self.changes().await;
        let Some(build) = self.building.take() else { return };
        let took = timings::duration(u64::try_from(build.begun.elapsed().as_micros()).unwrap_or(u64::MAX));
        match self.publish(made).await {
            Ok(true) => console::remark(&format!("built in {took}")),
            Ok(false) => console::remark(&format!("built in {took}; it is the same as before")),
            Err(error) => self.report(&error, &took),
        }
        if changes.is_empty() {
            self.ledger.settled();
        }
        self.build_anew(&changes).await;
    }

    /// Puts what was built where the server looks; whether it is another than before.
    async fn publish(&self, made: Result<Made, BuildError>) -> anyhow::Result<bool> {
        let Made { file, name } = made?;
        let name = name.unwrap_or_else(|| self.project.name.clone());
        let place = self.place.clone();
        Ok(spawn_blocking(move || place.put(&file, &name)).await??)
    }

    fn report(&self, error: &anyhow::Error, took: &str) {
        let still = if self.place.is_empty() {
            "nothing is served yet"
        } else {
            "the version before it is still served"
        };
        console::remark(&format!("the build failed after {took}; {still}\n  {error:#}"));
    }
}

/// Waits for the end of a build, for ever if there is none.
async fn ended(building: &mut Option<Build>) -> Result<Made, BuildError> {
    match building {
        Some(build) => build.ended().await,
        None => std::future::pending().await,
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
        assert_eq!(usual.audit(), Some(place.folder.join("plugport-state/audit.jsonl")));
        let text =
            "[server]\nstate = \"kept\"\n[plugins.x.grants]\ndirs = [{ host = \"data\", write = true }]\n";
        std::fs::write(root.join("plugport.toml"), text).unwrap();
        let own = Settings::read(&args, &project, &place).unwrap();
        assert_eq!(own.audit(), Some(root.join("kept/audit.jsonl")));
        assert_eq!(own.written().collect::<Vec<_>>(), [root.join("kept"), root.join("data")]);
        args.config = Some(root.join("none.toml"));
        assert!(matches!(Settings::read(&args, &project, &place), Err(Failure::Usage(_))));
    }
}
