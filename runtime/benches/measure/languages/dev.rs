//! What `plugport dev` takes from saving a source to the new answer, as a client sees it that listens for changes, and
//! to the error of a source that is broken.

use std::time::{Duration, Instant};

use tokio::process::Command;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{sleep, timeout};

use super::fresh_caches::FreshCaches;
use super::project::{Project, path};
use crate::support::in_process::runtime;
use crate::support::server::{Client, Listener, PROGRAM, Server};

/// Changes that count. `dev` delays the builds of a file that changes more often in a row.
const CHANGES: usize = 5;

/// After this time without a build, `dev` counts the changes of a file anew.
const PAUSE: Duration = Duration::from_secs(6);

/// What `dev` prints when a build has failed, after the errors of the build.
const FAILED: &str = "the build failed after ";

/// How long the first build and each change may take.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Medians of what follows a saved source, seconds.
pub struct DevTimes {
    /// Until a client has heard of the change and has the new answer.
    pub change_s: f64,
    /// Until `dev` has shown an error of syntax.
    pub error_s: f64,
}

/// Runs `plugport dev` in the project, and leaves a broken source behind.
pub fn dev_times(project: &Project<'_>, caches: &FreshCaches) -> Result<DevTimes, String> {
    runtime().block_on(async {
        let mut command = Command::new(PROGRAM);
        command
            .args(["dev", ".", "--listen", "127.0.0.1:0"])
            .current_dir(project.folder())
            .env("PATH", path())
            .envs(caches.environment());
        let (sender, mut failures) = channel(CHANGES);
        let server = Server::run(command, move |line| {
            if line.starts_with(FAILED) {
                // A failure that nobody waits for is not measured.
                let _ = sender.try_send(Instant::now());
            }
        });
        let server = server.await;
        let measured = measure(project, caches, &server, &mut failures).await;
        server.end().await;
        measured
    })
}

async fn measure(
    project: &Project<'_>,
    caches: &FreshCaches,
    server: &Server,
    failures: &mut Receiver<Instant>,
) -> Result<DevTimes, String> {
    let mut client = Client::new(server).await;
    let first = async {
        while client.tools().await != Some(1) {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(TIMEOUT, first).await.map_err(|_| "its first build was not served")?;
    let change_s = change_seconds(project, caches, server, &mut client).await?;
    sleep(PAUSE).await;
    Ok(DevTimes { change_s, error_s: error_seconds(project, failures).await? })
}

async fn change_seconds(
    project: &Project<'_>,
    caches: &FreshCaches,
    server: &Server,
    client: &mut Client,
) -> Result<f64, String> {
    let mut listener = Listener::open(server).await;
    let mut seconds = Vec::new();
    for number in 1..=CHANGES {
        // A description is in the list, a greeting only in the answer.
        let (greet, hello) = (caches.word("Greet", number), caches.word("Hello", number));
        let expected = format!("{hello}, Ada!");
        let begun = project.replace(&[("Greet", greet), ("Hello", hello)]);
        let changed = async {
            listener.tools_changed().await;
            client.call("hello-hello", r#"{"name":"Ada"}"#).await
        };
        let answer = timeout(TIMEOUT, changed).await.map_err(|_| "a change was not served")?;
        seconds.push(begun.elapsed().as_secs_f64());
        if answer != expected {
            return Err(format!("{answer:?} came after a change, and not {expected:?}"));
        }
    }
    Ok(median(seconds))
}

async fn error_seconds(project: &Project<'_>, failures: &mut Receiver<Instant>) -> Result<f64, String> {
    let mut seconds = Vec::new();
    for _ in 0..CHANGES {
        let begun = project.break_syntax();
        let failed = timeout(TIMEOUT, failures.recv()).await.map_err(|_| "an error was not shown")?;
        let failed = failed.ok_or("`plugport dev` has ended")?;
        seconds.push(failed.saturating_duration_since(begun).as_secs_f64());
    }
    Ok(median(seconds))
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
