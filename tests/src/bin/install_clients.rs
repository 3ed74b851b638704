//! `cargo run -p plugport-tests --bin install_clients` installs the clients of other projects and the official suite,
//! each of which the first test that needs it would install otherwise. `cargo verify` runs this while components are
//! compiled, since installing waits for the network.

#![expect(clippy::print_stderr, reason = "the reason of a failure is for whoever runs this")]

use std::process::ExitCode;

use anyhow::Context as _;
use plugport_tests::conformance;
use plugport_tests::external_clients::ExternalClient;
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> ExitCode {
    let mut installations = JoinSet::new();
    for client in ExternalClient::OF_SUITE {
        installations.spawn(async move { client.install().await.with_context(|| format!("{client:?}")) });
    }
    installations.spawn_blocking(|| conformance::install().context("the official suite"));
    let mut exit_code = ExitCode::SUCCESS;
    while let Some(installed) = installations.join_next().await {
        if let Err(error) = installed.map_err(anyhow::Error::from).flatten() {
            eprintln!("{error:#}");
            exit_code = ExitCode::FAILURE;
        }
    }
    exit_code
}
