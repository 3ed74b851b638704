//! The loop itself: look, build, serve what came of it, look again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::build::{Build, BuildError};
use super::ledger::Ledger;
use super::pace::Pace;
use super::place::Place;
use super::project::{Project, Recipe};
use super::server::Server;
use super::settings::{Awaited, Settings};
use super::signals::Signals;
use super::sources::Sources;
use super::timings;
use super::watch::Watch;
use crate::commands::project::artifacts::Made;
use crate::commands::{Failure, console};

/// How many files are named in one line.
const NAMED: usize = 3;

/// Why the loop is over.
pub(super) enum End {
    Stopped,
    /// There are settings where there were none.
    Reconfigured(Box<Settings>),
}

/// The project, as it is watched and built.
pub(super) struct Loop {
    project: Arc<Project>,
    place: Place,
    watch: Watch,
    ledger: Ledger,
    pace: Pace,
    awaited: Awaited,
    building: Option<Build>,
    /// When the next build begins, if it has to wait.
    due: Option<Instant>,
}

impl Loop {
    pub(super) fn new(project: Arc<Project>, place: Place, settings: &Settings) -> Self {
        let others = settings.written().chain(project.output.clone());
        let watch = Watch::new(Sources::new(project.root.clone(), others));
        let lock = (project.recipe == Recipe::Cargo).then(|| project.root.join("Cargo.lock"));
        Self {
            awaited: Awaited::new(settings, &project),
            project,
            place,
            watch,
            ledger: Ledger::new(lock),
            pace: Pace::default(),
            building: None,
            due: None,
        }
    }

    /// Builds at once and after every change, until told to stop.
    pub(super) async fn follow(
        &mut self,
        server: &mut Server,
        signals: &mut Signals,
    ) -> Result<End, Failure> {
        if let Some(files) = self.watch.look().await {
            // What is there at the beginning has not changed.
            let _ = self.ledger.idle(files);
        }
        console::remark(&format!("building with: {}", self.project.recipe.in_words()));
        self.begin();
        loop {
            tokio::select! {
                made = ended(&mut self.building) => self.finish(made).await,
                () = self.watch.hinted() => {
                    if let Some(settings) = self.awaited.read(&self.place) {
                        return Ok(End::Reconfigured(Box::new(settings)));
                    }
                    self.look().await;
                }
                () = comes(self.due) => {
                    self.due = None;
                    self.begin_with_all().await;
                }
                status = server.ended() => {
                    let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                    let why = "the server has ended, as it says above; mend that and start again";
                    return Err(Failure::Failed(anyhow!(how).context(why)));
                }
                () = signals.stopped() => return Ok(End::Stopped),
            }
        }
    }

    /// Ends the build that runs.
    pub(super) async fn stop(&mut self) {
        if let Some(build) = self.building.take() {
            build.stop().await;
        }
    }

    fn begin(&mut self) {
        self.due = None;
        self.ledger.begin();
        self.pace.begun();
        self.building = Some(Build::begin(Arc::clone(&self.project)));
    }

    /// Begins a build of the sources as they are by now.
    async fn begin_with_all(&mut self) {
        if let Some(files) = self.watch.look().await {
            let _ = self.ledger.idle(files);
        }
        self.begin();
    }

    /// Looks at the sources, and begins a build if it is due. One that does not know of what has changed is ended.
    async fn look(&mut self) {
        let Some(files) = self.watch.look().await else { return };
        if self.building.is_some() {
            let changes = self.ledger.during(files);
            if !changes.is_empty() {
                self.begin_anew(&changes).await;
            }
            return;
        }
        let changes = self.ledger.idle(files);
        // That it changes once more is what is being waited for.
        let waits = self.due.is_some() && self.pace.is_same(&changes);
        if !changes.is_empty() && !waits {
            self.build(&changes, "changed");
        }
    }

    /// Begins a build for these, now or when it is time.
    fn build(&mut self, changes: &[PathBuf], how: &str) {
        let now = Instant::now();
        let wait = self.pace.wait(changes, now);
        let named = self.named(changes);
        if wait.is_zero() {
            console::remark(&format!("{how}: {named}; building"));
            return self.begin();
        }
        let seconds = wait.as_secs();
        console::remark(&format!(
            "{how}: {named}, as after each of the last builds; building in {seconds} s"
        ));
        self.due = Some(now + wait);
    }

    /// Ends the build that runs, and begins another.
    async fn begin_anew(&mut self, changes: &[PathBuf]) {
        // There is no waiting with one that runs already, but it counts.
        let _: Duration = self.pace.wait(changes, Instant::now());
        console::remark(&format!("changed: {}; building", self.named(changes)));
        self.stop().await;
        if let Some(files) = self.watch.look().await {
            let taken = self.ledger.stopped(files);
            self.tell_of(&taken);
        }
        self.begin();
    }

    /// Serves what was built, or says why there is nothing new.
    async fn finish(&mut self, made: Result<Made, BuildError>) {
        let Some(build) = self.building.take() else { return };
        let took = timings::duration(u64::try_from(build.begun.elapsed().as_micros()).unwrap_or(u64::MAX));
        // At once: what changes from now on is no build's.
        let files = self.watch.look().await;
        match self.publish(made).await {
            Ok(true) => console::remark(&format!("built in {took}")),
            Ok(false) => console::remark(&format!("built in {took}; it is the same as before")),
            Err(error) => self.report(&error, &took),
        }
        self.pace.ended(Instant::now());
        let verdict = files.map(|files| self.ledger.ended(files)).unwrap_or_default();
        self.tell_of(&verdict.taken);
        if !verdict.again.is_empty() {
            self.build(&verdict.again, "changed while it was built");
        }
    }

    /// Tells what counts no more while builds run.
    fn tell_of(&self, taken: &[PathBuf]) {
        if !taken.is_empty() {
            let named = self.named(taken);
            console::remark(&format!(
                "{named}: taken for what the build makes, since it was different after each"
            ));
            console::remark(
                "  a change of it counts only while no build runs; save it again then, if it is yours",
            );
        }
    }

    /// Files of the project, in a line.
    fn named(&self, files: &[PathBuf]) -> String {
        let short =
            |file: &PathBuf| file.strip_prefix(&self.project.root).unwrap_or(file).display().to_string();
        let mut named: Vec<String> = files.iter().take(NAMED).map(short).collect();
        if let Some(others) = files.len().checked_sub(NAMED).filter(|others| *others > 0) {
            named.push(format!("{others} more"));
        }
        named.join(", ")
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

/// Waits for a time, for ever if there is none.
async fn comes(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
