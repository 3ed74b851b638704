//! What `plugport dev` takes from saving a source to the new answer, as a client sees it that listens for changes.

use std::path::Path;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::{sleep, timeout};

use super::project::{Project, path};
use crate::support::in_process::runtime;
use crate::support::server::{Client, Listener, PROGRAM, Server};

/// Changes that count.
const CHANGES: usize = 5;

/// How long the first build and each change may take.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The median of the seconds from a saved source until a client has heard of the change and has the new answer.
pub fn seconds(project: &Project, home: &Path) -> Result<f64, String> {
    runtime().block_on(async {
        let mut command = Command::new(PROGRAM);
        command
            .args(["dev", ".", "--listen", "127.0.0.1:0"])
            .current_dir(project.folder())
            .env("PATH", path());
        command.env("XDG_CACHE_HOME", home.join("cache")).env("XDG_STATE_HOME", home.join("state"));
        let server = Server::run(command).await;
        let measured = measure(project, &server).await;
        server.end().await;
        measured
    })
}

async fn measure(project: &Project, server: &Server) -> Result<f64, String> {
    let mut client = Client::new(server).await;
    let first = async {
        while client.tools().await != Some(1) {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(TIMEOUT, first).await.map_err(|_| "its first build was not served")?;
    let mut listener = Listener::open(server).await;
    let mut seconds = Vec::new();
    for number in 0..CHANGES {
        // A description is in the list, a greeting only in the answer.
        let begun =
            project.replace(&[("Greet", format!("Greet{number}")), ("Hello", format!("Hello{number}"))]);
        let changed = async {
            listener.tools_changed().await;
            client.call("hello-hello", r#"{"name":"Ada"}"#).await
        };
        let answer = timeout(TIMEOUT, changed).await.map_err(|_| "a change was not served")?;
        seconds.push(begun.elapsed().as_secs_f64());
        let expected = format!("Hello{number}, Ada!");
        if answer != expected {
            return Err(format!("{answer:?} came after a change, and not {expected:?}"));
        }
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[CHANGES / 2])
}
