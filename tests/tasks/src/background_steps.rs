//! Steps of a whole run that go on beside the other steps, at the lowest priority.
//!
//! Tests that measure times have the machine to themselves and leave half of it idle. Lints, docs and the plugins' own
//! tests use that time; one after another they would make a run five minutes longer. Each of them is this program with
//! `verify STEP`. Cargo locks a build folder while it compiles, so these steps have a build folder of their own and no
//! test waits for them.

use std::process::Command;
use std::thread::JoinHandle;
use std::time::Instant;

use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};

/// The names of these steps, in their order.
pub(crate) const NAMES: &[&str] = &["plugins", "lint", "docs"];

/// The steps that run. If the run ends before them, they are not awaited.
pub(crate) struct BackgroundSteps(JoinHandle<Outcome<Vec<String>>>);

impl BackgroundSteps {
    pub(crate) fn start(repository: &Repository) -> Outcome<Self> {
        let steps = NAMES.iter().map(|name| Ok((*name, command(repository, name)?)));
        let steps = steps.collect::<Outcome<Vec<_>>>()?;
        Ok(Self(std::thread::spawn(move || run_all(steps))))
    }

    /// Waits for the steps, and returns the times that they took.
    pub(crate) fn wait(self) -> Outcome<Vec<String>> {
        self.0.join().unwrap_or_else(|_| Err(Failure::new("the thread of the background steps failed")))
    }
}

/// This program with one step, at the lowest priority where `nice` exists.
fn command(repository: &Repository, step: &str) -> Outcome<Command> {
    let this = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find this program: {error}")))?;
    let mut command = Command::new(if cfg!(unix) { "nice".as_ref() } else { this.as_os_str() });
    if cfg!(unix) {
        command.args(["-n", "19"]).arg(&this);
    }
    command.args(["verify", step]).current_dir(repository.root());
    command.env("CARGO_TARGET_DIR", repository.target("background"));
    Ok(command)
}

fn run_all(steps: Vec<(&str, Command)>) -> Outcome<Vec<String>> {
    let mut times = Vec::new();
    for (name, command) in steps {
        let begun = Instant::now();
        run_silently(name, command).inspect_err(|failure| eprintln!("{failure}"))?;
        let time = run_command::time(begun.elapsed());
        eprintln!("[in the background] {name}: done in {time}");
        times.push(format!("{name} {time} in the background"));
    }
    Ok(times)
}

/// Runs a step, and shows its output only if it fails: the output of other steps is being shown.
fn run_silently(name: &str, mut command: Command) -> Outcome {
    let output =
        command.output().map_err(|error| Failure::new(format!("cannot run the step {name}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let (printed, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(Failure::new(format!("[in the background] {name} failed:\n{printed}{said}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_fails_shows_its_output() {
        let mut fails = Command::new("sh");
        fails.args(["-c", "echo out; echo err >&2; exit 3"]);
        let error = run_all(vec![("lint", fails)]).unwrap_err().to_string();
        assert_eq!(error, "[in the background] lint failed:\nout\nerr");
        assert_eq!(run_all(vec![("docs", Command::new("true"))]).unwrap().len(), 1);
    }
}
