//! One build: a process group whose output is passed on, and which is killed as a whole when the build is cancelled.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::built_file::{BuiltFileError, WasmFiles, newest, wasm_files};
use super::install_hints;
use super::project::{DataBuild, Project, Recipe};
use crate::child_output::{print_line, read_lines};
use crate::project::cargo_artifacts::{Artifacts, BuiltFile};

/// How long a build may take to end after SIGTERM. Make removes partial files in that time.
const TERM_TIMEOUT: Duration = Duration::from_secs(2);

/// How long output is read after the end: processes that the build has left running may hold the pipe.
const OUTPUT_TIMEOUT: Duration = Duration::from_millis(300);

/// Why a build made no component.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildFailure {
    #[error("`{program}` is not installed{}", with_hint(*.hint))]
    Missing { program: String, hint: Option<&'static str> },
    #[error("cannot start `{0}`")]
    NotStarted(String, #[source] io::Error),
    #[error("the build's end could not be seen; change a source to build again")]
    Unseen(#[source] io::Error),
    #[error("it ended with {status}{}", with_hint(*.hint))]
    Failed { status: ExitStatus, hint: Option<&'static str> },
    #[error(transparent)]
    Output(#[from] BuiltFileError),
    #[error("it was stopped")]
    Stopped,
    #[error("the build was lost; change a source to build again")]
    Lost(#[from] JoinError),
}

fn with_hint(hint: Option<&str>) -> String {
    hint.map(|hint| format!("; {hint}")).unwrap_or_default()
}

/// A running build.
pub(super) struct BuildProcess {
    pub(super) begun: Instant,
    task: JoinHandle<Result<BuiltFile, BuildFailure>>,
    stop: CancellationToken,
}

impl BuildProcess {
    /// Starts a build. `data`: if the component may load sources.
    pub(super) fn spawn(project: Arc<Project>, data: Option<DataBuild>) -> Self {
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move { run(&project, data.as_ref(), &stopped).await });
        Self { begun: Instant::now(), task, stop }
    }

    /// Waits for the end of the build. Can be dropped before that.
    pub(super) async fn ended(&mut self) -> Result<BuiltFile, BuildFailure> {
        (&mut self.task).await?
    }

    /// Stops the build; none of its processes runs afterwards.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        // The result is no longer needed.
        let _ = self.task.await;
    }
}

async fn run(
    project: &Project,
    data: Option<&DataBuild>,
    stop: &CancellationToken,
) -> Result<BuiltFile, BuildFailure> {
    let searches = project.recipe != Recipe::Cargo && project.output.is_none();
    let before = if searches { scan(project).await? } else { WasmFiles::new() };
    let mut child = start(project, data)?;
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let hide_stdout = project.recipe == Recipe::Plugport;
    let mut messages = BuildMessages { artifacts: Artifacts::of(&project.root), hide_stdout, hint: None };
    let status = tokio::select! {
        status = listen(&mut child, &mut messages) => status.map_err(BuildFailure::Unseen)?,
        () = stop.cancelled() => {
            kill_group(&mut child, group).await;
            return Err(BuildFailure::Stopped);
        }
    };
    if !status.success() {
        return Err(BuildFailure::Failed { status, hint: messages.hint });
    }
    match &project.output {
        Some(file) => Ok(BuiltFile { file: file.clone(), name: None }),
        None if searches => Ok(newest(&before, scan(project).await?)?),
        None => Ok(messages.artifacts.one().map_err(BuiltFileError::from)?),
    }
}

async fn scan(project: &Project) -> Result<WasmFiles, JoinError> {
    let root = project.root.clone();
    spawn_blocking(move || wasm_files(&root)).await
}

fn start(project: &Project, data: Option<&DataBuild>) -> Result<Child, BuildFailure> {
    let (program, args) = project.command(data);
    let spawned = Command::new(&program)
        .args(args)
        .current_dir(&project.root)
        // The output is parsed, and escape sequences would be shown as text.
        .env("NO_COLOR", "1")
        .env("CARGO_TERM_COLOR", "never")
        .envs(project.recipe.environment())
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    spawned.map_err(|error| {
        let program = program.to_string_lossy().into_owned();
        match error.kind() {
            io::ErrorKind::NotFound if project.root.is_dir() => {
                BuildFailure::Missing { hint: install_hints::for_program(&program), program }
            }
            _ => BuildFailure::NotStarted(program, error),
        }
    })
}

/// What the output of a build has shown.
struct BuildMessages {
    artifacts: Artifacts,
    /// Whether stdout is not shown: `plugport build` prints a summary there that `dev` prints itself.
    hide_stdout: bool,
    hint: Option<&'static str>,
}

/// Passes on the output of the build until the build has ended.
async fn listen(child: &mut Child, messages: &mut BuildMessages) -> io::Result<ExitStatus> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let BuildMessages { artifacts, hide_stdout, hint } = messages;
    let (mut stdout_hint, mut stderr_hint) = (None, None);
    let ended = CancellationToken::new();
    let output = async {
        let out = async {
            if let Some(stdout) = stdout {
                read_lines(stdout, |line| {
                    if !artifacts.parse_line(line) && !*hide_stdout {
                        pass_on(line, &mut stdout_hint)
                    }
                })
                .await;
            }
        };
        let err = async {
            if let Some(stderr) = stderr {
                read_lines(stderr, |line| pass_on(line, &mut stderr_hint)).await;
            }
        };
        tokio::join!(out, err)
    };
    let reading = async {
        tokio::select! {
            _ = output => {}
            () = async { ended.cancelled().await; sleep(OUTPUT_TIMEOUT).await } => {}
        }
    };
    let waiting = async {
        let status = child.wait().await;
        ended.cancel();
        status
    };
    let (status, ()) = tokio::join!(waiting, reading);
    *hint = stderr_hint.or(stdout_hint);
    status
}

fn pass_on(line: &str, hint: &mut Option<&'static str>) {
    *hint = hint.or_else(|| install_hints::for_line(line));
    print_line(line);
}

/// Stops the process and its children.
async fn kill_group(child: &mut Child, group: Option<Pid>) {
    let signal = |signal| group.map(|group| kill_process_group(group, signal));
    // Errors are ignored: the group may be gone already.
    let _ = signal(Signal::TERM);
    let ended = timeout(TERM_TIMEOUT, child.wait()).await.is_ok();
    let _ = signal(Signal::KILL);
    if !ended {
        let _ = child.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(root: &std::path::Path, command: &str) -> Arc<Project> {
        let recipe = Recipe::Command(command.to_owned());
        Arc::new(Project {
            root: root.to_owned(),
            name: "p".to_owned(),
            recipe,
            output: None,
            language: None,
        })
    }

    #[tokio::test]
    async fn a_build_that_fails_says_how_and_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let command = "echo 'sh: 1: componentize-py: not found' >&2; exit 127";
        let failed = BuildProcess::spawn(project(dir.path(), command), None).ended().await.unwrap_err();
        assert_eq!(
            failed.to_string(),
            format!(
                "it ended with exit status: 127; install it: python3 -m venv .venv && . .venv/bin/activate && \
                 pip install {}",
                crate::project::packages::COMPONENTIZE_PY
            )
        );
        let empty = BuildProcess::spawn(project(dir.path(), "true"), None).ended().await.unwrap_err();
        assert!(empty.to_string().contains("--output"), "{empty}");
    }

    #[tokio::test]
    async fn what_a_build_leaves_running_keeps_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let command = "printf '\\000asm\\r\\000\\001\\000' > p.wasm; sleep 5 & echo done";
        let mut build = BuildProcess::spawn(project(dir.path(), command), None);
        let made = timeout(Duration::from_secs(4), build.ended()).await.unwrap();
        assert_eq!(made.unwrap().file, dir.path().join("p.wasm"));
    }

    #[tokio::test]
    async fn a_build_that_is_stopped_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let command = "trap '' TERM; sleep 600 & echo $! > pid.new; mv pid.new pid; wait";
        let build = BuildProcess::spawn(project(dir.path(), command), None);
        while !pid.exists() {
            sleep(Duration::from_millis(10)).await;
        }
        build.stop().await;
        let left = std::fs::read_to_string(&pid).unwrap();
        let runs = || {
            std::fs::read_to_string(format!("/proc/{}/stat", left.trim()))
                .is_ok_and(|stat| !stat.contains(") Z"))
        };
        // It was killed before this, but the system may need a moment.
        let gone = async {
            while runs() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(5), gone).await.expect("nothing is left of it");
    }
}
