//! Runs one command after another: announces it, measures its time, and names the command that failed.
//!
//! The named command can be pasted into a shell, to run the failed step alone.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

/// The result of every command and step.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Why a command failed, as a message for people.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    message: String,
    usage: bool,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), usage: false }
    }

    /// The command was not understood; nothing was run.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), usage: true }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(if self.usage { 2 } else { 1 })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message.trim_end())
    }
}

/// Announces a step, runs it, and prints its time. `note` announces a long wait.
pub(crate) fn step(what: &str, note: &str, work: impl FnOnce() -> Outcome) -> Outcome {
    let space = if note.is_empty() { "" } else { " " };
    eprintln!("{what}{space}{note} ...");
    let start = Instant::now();
    work()?;
    eprintln!("{what}: done in {}", time(start.elapsed()));
    Ok(())
}

/// The outcome of a step that ran on a thread of its own.
pub(crate) fn joined(thread: ScopedJoinHandle<'_, Outcome>) -> Outcome {
    thread.join().unwrap_or_else(|_| Err(Failure::new("a step ended with the panic above")))
}

/// The cargo that runs this program, so that a step uses the same toolchain. Its environment has no variables of this
/// program's package: build scripts read those, and would run again after every `cargo test` by hand.
pub(crate) fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder);
    forget_package(&mut command);
    command
}

/// Takes the variables of this program's package out of the environment of a command that runs cargo.
pub(crate) fn forget_package(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR" {
            command.env_remove(name);
        }
    }
}

/// Runs a command to its end and shows its output.
pub(crate) fn run(mut command: Command) -> Outcome {
    let line = line(&command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("failed with {status}; to see it alone: {line}"))),
        Err(error) => Err(Failure::new(format!("cannot run `{line}`: {error}"))),
    }
}

/// Whether a command exists and succeeds; its output is dropped.
pub(crate) fn succeeds(mut command: Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// The first line that a program prints with `--version`; `None`: it does not run.
pub(crate) fn version(program: impl AsRef<OsStr>) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Becomes the command, so that signals and the exit status are its own.
#[cfg(unix)]
pub(crate) fn become_command(mut command: Command) -> Outcome {
    use std::os::unix::process::CommandExt as _;
    let error = command.exec();
    Err(Failure::new(format!("cannot run `{}`: {error}", line(&command))))
}

/// Runs the command to its end; here a process cannot be replaced.
#[cfg(not(unix))]
pub(crate) fn become_command(command: Command) -> Outcome {
    run(command)
}

/// The command as it would be typed at the root of the repository.
pub(crate) fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or_default();
    let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let environment = set.map(|(name, value)| format!("{}={}", name.to_string_lossy(), quoted(value)));
    let words = std::iter::once(program).chain(command.get_args()).map(quoted);
    environment.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// `0.4 s`, `12 s`, `6 min 5 s`.
pub(crate) fn time(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        seconds @ 60.. => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds @ 10.. => format!("{seconds} s"),
        _ => format!("{:.1} s", elapsed.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_names_a_line_that_can_be_pasted() {
        let mut command = Command::new("/somewhere/bin/cargo");
        command
            .args(["doc", "--config", "a b", ""])
            .env("RUSTDOCFLAGS", "-D warnings")
            .env_remove("RUSTFLAGS");
        assert_eq!(line(&command), "RUSTDOCFLAGS='-D warnings' cargo doc --config 'a b' ''");
    }

    #[test]
    fn times_are_as_exact_as_anyone_reads_them() {
        let shown = [350, 12_900, 365_000].map(|ms| time(Duration::from_millis(ms)));
        assert_eq!(shown, ["0.3 s", "12 s", "6 min 5 s"].map(str::to_owned));
    }

    #[test]
    fn a_command_that_does_not_exist_is_named() {
        let failure = run(Command::new("no-such-program-here")).unwrap_err().to_string();
        assert!(failure.starts_with("cannot run `no-such-program-here`"), "{failure}");
    }
}
