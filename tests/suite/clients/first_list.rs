//! The first `tools/list` of clients of other projects has every tool, over stdio and HTTP, although no code was
//! compiled before and the working directory is read-only.
//!
//! Some clients list once and never again, and some stop the server right after it, so a tool that is published later
//! would never be seen. The clients' scripts are in `tests/clients`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Result, ensure};
use plugport_tests::build::{binary, plugin};
use plugport_tests::external_clients::ExternalClient::{
    self, FastMcp, Inspector, LangChain, PydanticAi, Supergateway,
};
use plugport_tests::http_client::Client;
use plugport_tests::raw_server::wait_until;
use plugport_tests::reload::tool_names;
use plugport_tests::server::whole_machine;
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// A directory that nobody can write to, the superuser included.
const UNWRITABLE: &str = "/proc";

/// A user who has never run the server, with an empty home.
struct FreshHome {
    home: TempDir,
    plugins: PathBuf,
}

impl FreshHome {
    fn of(plugins: &Path) -> Self {
        Self { home: tempfile::tempdir().unwrap(), plugins: plugins.to_owned() }
    }

    /// Starts a command of this user from a directory that cannot be written.
    fn command(&self, more: &[&str]) -> Vec<String> {
        let home = self.home.path().display();
        let script = format!("cd {UNWRITABLE} && exec \"$@\"");
        let words = ["sh", "-c", &script, "sh", "env"].map(str::to_owned).into_iter();
        let variables = [("HOME", ""), ("XDG_CACHE_HOME", "/.cache"), ("XDG_STATE_HOME", "/.local/state")];
        let variables = variables.map(|(name, folder)| format!("{name}={home}{folder}"));
        let server = [binary().display().to_string(), "serve".to_owned(), "--plugins".to_owned()];
        let plugins = self.plugins.display().to_string();
        let more = more.iter().map(|word| (*word).to_owned());
        words.chain(variables).chain(server).chain([plugins]).chain(more).collect()
    }

    /// A server on HTTP, once it serves, and its log file.
    async fn serve(&self) -> (Child, String) {
        let said = self.home.path().join("said");
        let words = self.command(&["--listen", "127.0.0.1:0"]);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
        let child = command.stderr(std::fs::File::create(&said).unwrap()).spawn().unwrap();
        let where_it_is = || {
            let text = std::fs::read_to_string(&said).unwrap_or_default();
            text.lines().find_map(|line| line.strip_prefix("serving MCP at ").map(str::to_owned))
        };
        wait_until("it serves", || where_it_is().is_some()).await;
        (child, where_it_is().unwrap())
    }
}

/// The folder of the example plugins.
fn examples() -> PathBuf {
    plugin("hello").parent().unwrap().to_owned()
}

/// Every tool that the plugins have, once everything is compiled.
async fn all(plugins: &Path) -> BTreeSet<String> {
    let fresh_home = FreshHome::of(plugins);
    let (_server, url) = fresh_home.serve().await;
    let said = fresh_home.home.path().join("said");
    let loaded = || std::fs::read_to_string(&said).unwrap_or_default().contains("\nloaded ");
    wait_until("all is loaded", loaded).await;
    tool_names(&Client::new(url)).await.into_iter().collect()
}

/// The first list of a client from a server that has never run before.
async fn first_list(
    client: ExternalClient,
    transport: &'static str,
    plugins: &Path,
) -> Result<BTreeSet<String>> {
    let fresh_home = FreshHome::of(plugins);
    let mut server = None;
    let target = if transport == "http" {
        let (child, url) = fresh_home.serve().await;
        server = Some(child);
        vec![url]
    } else {
        fresh_home.command(&["--stdio"])
    };
    let report = client.drive("first_list", transport, "first", target).await;
    drop(server);
    Ok(serde_json::from_value(report?["tools"].clone())?)
}

async fn assert_everything_is_listed_first(plugins: &Path, clients: &[ExternalClient]) -> Result<()> {
    let _machine = whole_machine().await;
    let all = all(plugins).await;
    ensure!(!all.is_empty(), "the plugins have no tools");
    let mut failed = Vec::new();
    for client in clients {
        for transport in ["stdio", "http"] {
            let begun = Instant::now();
            let seen = first_list(*client, transport, plugins).await;
            let took = begun.elapsed();
            match seen {
                Ok(seen) if seen == all => {
                    println!("{client:?} over {transport}: {} tools in {took:?}", seen.len())
                }
                Ok(seen) => {
                    failed.push(format!("{client:?} over {transport}: {} of {} tools", seen.len(), all.len()))
                }
                Err(error) => failed.push(format!("{client:?} over {transport}: {error:#}")),
            }
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_list_of_a_cold_server_has_every_tool() -> Result<()> {
    // Components that were never compiled before, in this process or another.
    let plugins = plugport_tests::guests::folder(&["polite", "version_a", "version_b", "features"]);
    assert_everything_is_listed_first(plugins.path(), &[FastMcp]).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "installs five clients and compiles every example plugin ten times: ten minutes"]
async fn soak_first_lists_of_five_clients_have_every_tool() -> Result<()> {
    let clients = [Inspector, FastMcp, LangChain, PydanticAi, Supergateway];
    assert_everything_is_listed_first(&examples(), &clients).await
}
