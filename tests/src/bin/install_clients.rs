//! `cargo run -p plugport-tests --bin install_clients` installs the clients of other projects and the official suite,
//! each of which the first test that needs it would install otherwise. `cargo verify` runs this while components are
//! compiled, since installing waits for the network.

#![expect(clippy::print_stderr, reason = "the reason of a failure is for whoever runs this")]

use std::process::ExitCode;

use plugport_tests::conformance;
use plugport_tests::external_clients::ExternalClient;

#[tokio::main]
async fn main() -> ExitCode {
    let mut all_installed = true;
    for client in ExternalClient::OF_SUITE {
        if let Err(error) = client.install().await {
            eprintln!("{client:?}: {error:#}");
            all_installed = false;
        }
    }
    if let Err(error) = conformance::install() {
        eprintln!("the official suite: {error:#}");
        all_installed = false;
    }
    if all_installed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
