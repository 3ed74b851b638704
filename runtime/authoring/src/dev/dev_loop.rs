//! The loop of `plugport dev`: scan the sources, build, serve the result, scan again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use plugport_common::{CommandError, console};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::backoff::Backoff;
use super::build_process::{BuildFailure, BuildProcess};
use super::call_timings;
use super::change_tracker::ChangeTracker;
use super::project::{DataBuild, Project, Recipe};
use super::server_config::{DevServerConfig, MissingConfig};
use super::server_process::ServerProcess;
use super::source_watcher::SourceWatcher;
use super::sources::Sources;
use super::workdir::{self, Workdir};
use crate::project::cargo_artifacts::BuiltFile;
use crate::project::language::Language;
use crate::server_access::ServerAccess;
use crate::signals::Signals;

/// Maximum number of files that one line names.
const MAX_NAMED: usize = 3;

/// Why the loop has ended.
pub(super) enum LoopEnd {
    Stopped,
    /// There is a configuration now, and there was none before.
    Reconfigured(Box<DevServerConfig>),
}

/// Watches, builds and serves one project.
pub(super) struct DevLoop {
    project: Arc<Project>,
    workdir: Workdir,
    source_watcher: SourceWatcher,
    tracker: ChangeTracker,
    backoff: Backoff,
    missing_config: MissingConfig,
    /// Whether a component may load sources as data.
    loads_sources: bool,
    /// The server's configuration, if it has one.
    config: Option<PathBuf>,
    building: Option<BuildProcess>,
    /// When the next build starts, if it is delayed.
    due: Option<Instant>,
}

impl DevLoop {
    pub(super) fn new(
        project: Arc<Project>,
        workdir: Workdir,
        settings: &DevServerConfig,
        listen: Option<&str>,
        access: &'static dyn ServerAccess,
    ) -> Self {
        let others = settings.written().chain(project.output.clone());
        let source_watcher = SourceWatcher::new(Sources::new(project.root.clone(), others));
        let is_cargo = project.recipe == Recipe::Cargo || project.language == Some(Language::Rust);
        let lock = is_cargo.then(|| project.root.join("Cargo.lock"));
        Self {
            missing_config: MissingConfig::new(settings, &project, listen, access),
            loads_sources: settings.loads_sources() && project.may_load_sources(),
            config: settings.file.clone(),
            project,
            workdir,
            source_watcher,
            tracker: ChangeTracker::new(lock),
            backoff: Backoff::default(),
            building: None,
            due: None,
        }
    }

    /// Builds at once and after every change, until a signal or a new configuration.
    pub(super) async fn run(
        &mut self,
        server: &mut ServerProcess,
        signals: &mut Signals,
    ) -> Result<LoopEnd, CommandError> {
        if let Some(files) = self.source_watcher.scan().await {
            // The first scan is not a change.
            let _ = self.tracker.update_idle(files);
        }
        console::eprint(&format!("building with: {}", self.project.recipe.in_words()));
        self.start_build();
        loop {
            tokio::select! {
                made = ended(&mut self.building) => self.finish(made).await,
                () = self.source_watcher.scan_due() => {
                    if let Some(settings) = self.missing_config.read(&self.workdir) {
                        return Ok(LoopEnd::Reconfigured(Box::new(settings)));
                    }
                    self.check_sources().await;
                }
                () = sleep_until_due(self.due) => {
                    self.due = None;
                    self.rescan_and_build().await;
                }
                status = server.ended() => {
                    let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                    let why = "the server has ended, as it says above; mend that and start again";
                    return Err(CommandError::Failed(anyhow!(how).context(why)));
                }
                () = signals.stopped() => return Ok(LoopEnd::Stopped),
            }
        }
    }

    /// Stops the running build.
    pub(super) async fn stop(&mut self) {
        if let Some(build) = self.building.take() {
            build.stop().await;
        }
    }

    fn start_build(&mut self) {
        self.due = None;
        self.tracker.build_started();
        self.backoff.build_started();
        let data = self.loads_sources.then(|| DataBuild {
            others: self.source_watcher.digest(|file| !self.project.is_data(file)),
            config: self.config.clone(),
        });
        self.building = Some(BuildProcess::spawn(Arc::clone(&self.project), data));
    }

    /// Scans the sources again and starts a build.
    async fn rescan_and_build(&mut self) {
        if let Some(files) = self.source_watcher.scan().await {
            let _ = self.tracker.update_idle(files);
        }
        self.start_build();
    }

    /// Scans the sources, and starts a build if one is due. A running build that lacks a change is stopped.
    async fn check_sources(&mut self) {
        let Some(files) = self.source_watcher.scan().await else { return };
        if self.building.is_some() {
            let changes = self.tracker.update_building(files);
            if !changes.is_empty() {
                self.restart_build(&changes).await;
            }
            return;
        }
        let changes = self.tracker.update_idle(files);
        // A delayed build for this file is scheduled already.
        let waits = self.due.is_some() && self.backoff.is_same(&changes);
        if !changes.is_empty() && !waits {
            self.schedule_build(&changes, "changed");
        }
    }

    /// Starts a build for these changes, now or after the backoff.
    fn schedule_build(&mut self, changes: &[PathBuf], how: &str) {
        let now = Instant::now();
        let wait = self.backoff.next_delay(changes, now);
        let named = self.named(changes);
        if wait.is_zero() {
            console::eprint(&format!("{how}: {named}; building"));
            return self.start_build();
        }
        let seconds = wait.as_secs();
        console::eprint(&format!(
            "{how}: {named}, as after each of the last builds; building in {seconds} s"
        ));
        self.due = Some(now + wait);
    }

    /// Stops the running build, and starts another.
    async fn restart_build(&mut self, changes: &[PathBuf]) {
        // No delay here, but the change counts for the next one.
        let _: Duration = self.backoff.next_delay(changes, Instant::now());
        console::eprint(&format!("changed: {}; building", self.named(changes)));
        self.stop().await;
        if let Some(files) = self.source_watcher.scan().await {
            let generated = self.tracker.build_stopped(files);
            self.report_generated(&generated);
        }
        self.start_build();
    }

    /// Serves the component that was built, or reports why there is none.
    async fn finish(&mut self, made: Result<BuiltFile, BuildFailure>) {
        let Some(build) = self.building.take() else { return };
        let took =
            call_timings::duration(u64::try_from(build.begun.elapsed().as_micros()).unwrap_or(u64::MAX));
        // Scanned at once: later changes are not the build's.
        let files = self.source_watcher.scan().await;
        match self.publish(made).await {
            Ok(true) => console::eprint(&format!("built in {took}")),
            Ok(false) => console::eprint(&format!("built in {took}; it is the same as before")),
            Err(error) => self.report_failure(&error, &took),
        }
        self.backoff.build_ended(Instant::now());
        let decision = files.map(|files| self.tracker.build_ended(files)).unwrap_or_default();
        self.report_generated(&decision.generated);
        if !decision.again.is_empty() {
            self.schedule_build(&decision.again, "changed while it was built");
        }
    }

    /// Reports files that are taken for generated, so that their changes count only while no build runs.
    fn report_generated(&self, generated: &[PathBuf]) {
        if !generated.is_empty() {
            let named = self.named(generated);
            console::eprint(&format!(
                "{named}: taken for what the build makes, since it was different after each"
            ));
            console::eprint(
                "  a change of it counts only while no build runs; save it again then, if it is yours",
            );
        }
    }

    /// The names of some files of the project, in one line.
    fn named(&self, files: &[PathBuf]) -> String {
        let short =
            |file: &PathBuf| file.strip_prefix(&self.project.root).unwrap_or(file).display().to_string();
        let mut named: Vec<String> = files.iter().take(MAX_NAMED).map(short).collect();
        if let Some(others) = files.len().checked_sub(MAX_NAMED).filter(|others| *others > 0) {
            named.push(format!("{others} more"));
        }
        named.join(", ")
    }

    /// Copies the component into the server's folder. Returns whether it has changed.
    async fn publish(&self, made: Result<BuiltFile, BuildFailure>) -> anyhow::Result<bool> {
        let BuiltFile { file, name } = made?;
        let name = name.unwrap_or_else(|| self.project.name.clone());
        let (workdir, root) = (self.workdir.clone(), self.project.root.clone());
        let loads_sources = self.loads_sources;
        let put = move || {
            let sources = if loads_sources { workdir::read_built_sources(&root)? } else { Vec::new() };
            workdir.put(&file, &name, &sources)
        };
        Ok(spawn_blocking(put).await??)
    }

    fn report_failure(&self, error: &anyhow::Error, took: &str) {
        let still = if self.workdir.is_empty() {
            "nothing is served yet"
        } else {
            "the version before it is still served"
        };
        console::eprint(&format!("the build failed after {took}; {still}\n  {error:#}"));
    }
}

/// Waits for the end of a build, for ever if there is none.
async fn ended(building: &mut Option<BuildProcess>) -> Result<BuiltFile, BuildFailure> {
    match building {
        Some(build) => build.ended().await,
        None => std::future::pending().await,
    }
}

/// Waits for a time, for ever if there is none.
async fn sleep_until_due(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
