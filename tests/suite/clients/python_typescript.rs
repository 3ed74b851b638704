//! The official Python and TypeScript clients hold a whole conversation with the server, with and without sessions and
//! over both transports. Their scripts in `tests/clients` share no code with this project, so they find mistakes on
//! which the server and its own tests agree.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use plugport_tests::build::{shared_code_cache, shared_state_home};
use plugport_tests::external_clients::ExternalClient::{self, Python, TypeScript};
use plugport_tests::guests::LONG_START;
use plugport_tests::server::{self, Server};
use serde_json::Value;

async fn over_http(client: ExternalClient, mode: &'static str, revision: &str) -> Result<()> {
    client.install().await?;
    let server = Server::builder().guest("polite").start().await;
    let report = client.drive("client", "http", mode, vec![server.url()]).await;
    let said = || format!("the server said:\n{}", server.log());
    agrees(&report.with_context(said)?, revision)
}

async fn over_stdio(client: ExternalClient, mode: &'static str, revision: &str) -> Result<()> {
    let plugins = server::folder(&["polite"]);
    let command = stdio_command(plugins.path())?;
    agrees(&client.drive("client", "stdio", mode, command).await?, revision)
}

/// The command with which a client starts a server for the plugins of a folder.
pub(crate) fn stdio_command(plugins: &Path) -> Result<Vec<String>> {
    let config = plugins.join("plugport.toml");
    std::fs::write(
        &config,
        format!("{LONG_START}state_dir = \"state\"\ncompiled_cache_dir = {:?}\n", shared_code_cache()),
    )?;
    Ok(stdio_command_with(plugins, &config))
}

/// The same with a configuration that is there already.
pub(crate) fn stdio_command_with(plugins: &Path, config: &Path) -> Vec<String> {
    let program = server::binary();
    // Clients give what they start little of their own environment.
    let state = format!("XDG_STATE_HOME={}", shared_state_home().display());
    let words = [
        "env".as_ref(),
        state.as_ref(),
        program.as_os_str(),
        "serve".as_ref(),
        "--stdio".as_ref(),
        "--config".as_ref(),
        config.as_os_str(),
        "--plugins".as_ref(),
        plugins.as_os_str(),
    ];
    words.map(|word| word.to_string_lossy().into_owned()).into()
}

pub(crate) fn agrees(report: &Value, revision: &str) -> Result<()> {
    ensure!(report["ok"] == true && report["revision"] == revision, "unexpected report {report}");
    Ok(())
}

// Not here: the Python client that finds the newest revision over stdio. It falls back to sessions when the server has
// not answered after ten seconds, which a busy machine may need to start it.
macro_rules! conversations {
    ($( $name:ident: $client:ident $transport:ident $mode:literal is $revision:literal; )*) => {
        $(
            #[tokio::test]
            async fn $name() -> Result<()> {
                $transport($client, $mode, $revision).await
            }
        )*
    };
}

conversations! {
    python_with_sessions_over_http: Python over_http "legacy" is "2025-11-25";
    python_with_sessions_over_stdio: Python over_stdio "legacy" is "2025-11-25";
    python_stateless_over_http: Python over_http "modern" is "2026-07-28";
    python_stateless_over_stdio: Python over_stdio "modern" is "2026-07-28";
    python_finds_the_newest_over_http: Python over_http "auto" is "2026-07-28";
    typescript_with_sessions_over_http: TypeScript over_http "legacy" is "2025-11-25";
    typescript_with_sessions_over_stdio: TypeScript over_stdio "legacy" is "2025-11-25";
    typescript_stateless_over_http: TypeScript over_http "modern" is "2026-07-28";
    typescript_stateless_over_stdio: TypeScript over_stdio "modern" is "2026-07-28";
    typescript_finds_the_newest_over_http: TypeScript over_http "auto" is "2026-07-28";
    typescript_finds_the_newest_over_stdio: TypeScript over_stdio "auto" is "2026-07-28";
}
