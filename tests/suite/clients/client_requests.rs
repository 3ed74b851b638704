//! Guests send client requests to clients of other projects, in every revision and over every transport that each
//! client supports. The guests are the same for all clients.

use anyhow::{Context as _, Result};
use plugport_tests::external_clients::ExternalClient::{self, FastMcp, Python, TypeScript, TypeScriptV1};
use plugport_tests::server::{self, Server};
use tempfile::TempDir;

use crate::clients::python_typescript::{agrees, stdio_command_with};
use crate::mcp::conformance::granted;

async fn drive(
    client: ExternalClient,
    transport: &'static str,
    mode: &'static str,
    revision: &str,
) -> Result<()> {
    client.install().await?;
    let state = tempfile::tempdir()?;
    if transport == "stdio" {
        return over_stdio(client, mode, revision, &state).await;
    }
    let server = Server::builder().guest("conformance").config(&granted(state.path())).start().await;
    let url = match transport {
        "sse" => server.url().replace("/mcp", "/sse"),
        _ => server.url(),
    };
    let report = client.drive("client_requests", transport, mode, vec![url]).await;
    let report = report.with_context(|| format!("the server said:\n{}", server.log()))?;
    agrees(&report, revision)
}

async fn over_stdio(
    client: ExternalClient,
    mode: &'static str,
    revision: &str,
    state: &TempDir,
) -> Result<()> {
    let plugins = server::folder(&["conformance"]);
    let config = state.path().join("plugport.toml");
    std::fs::write(&config, granted(&state.path().join("state")))?;
    let command = stdio_command_with(plugins.path(), &config);
    let report = client.drive("client_requests", "stdio", mode, command).await?;
    agrees(&report, revision)
}

// Not here: clients in Python that find the newest revision over stdio. They fall back to sessions when the server has
// not answered after ten seconds, which a busy machine may need to start it.
macro_rules! conversations {
    ($( $name:ident: $client:ident $transport:literal $mode:literal is $revision:literal; )*) => {
        $(
            #[tokio::test]
            async fn $name() -> Result<()> {
                drive($client, $transport, $mode, $revision).await
            }
        )*
    };
}

conversations! {
    python_with_sessions_over_http: Python "http" "legacy" is "2025-11-25";
    python_with_sessions_over_stdio: Python "stdio" "legacy" is "2025-11-25";
    python_with_sessions_over_sse: Python "sse" "legacy" is "2025-11-25";
    python_stateless_over_http: Python "http" "modern" is "2026-07-28";
    python_stateless_over_stdio: Python "stdio" "modern" is "2026-07-28";
    python_finds_the_newest_over_http: Python "http" "auto" is "2026-07-28";
    python_as_of_2025_06_18_over_http: Python "http" "2025-06-18" is "2025-06-18";
    python_as_of_2025_03_26_over_http: Python "http" "2025-03-26" is "2025-03-26";
    python_as_of_2024_11_05_over_http: Python "http" "2024-11-05" is "2024-11-05";
    python_as_of_2024_11_05_over_stdio: Python "stdio" "2024-11-05" is "2024-11-05";
    python_as_of_2024_11_05_over_sse: Python "sse" "2024-11-05" is "2024-11-05";
    fastmcp_with_sessions_over_http: FastMcp "http" "legacy" is "2025-11-25";
    fastmcp_with_sessions_over_stdio: FastMcp "stdio" "legacy" is "2025-11-25";
    fastmcp_with_sessions_over_sse: FastMcp "sse" "legacy" is "2025-11-25";
    fastmcp_stateless_over_http: FastMcp "http" "modern" is "2026-07-28";
    fastmcp_stateless_over_stdio: FastMcp "stdio" "modern" is "2026-07-28";
    fastmcp_finds_the_newest_over_http: FastMcp "http" "auto" is "2026-07-28";
    fastmcp_as_of_2025_06_18_over_http: FastMcp "http" "2025-06-18" is "2025-06-18";
    fastmcp_as_of_2025_03_26_over_http: FastMcp "http" "2025-03-26" is "2025-03-26";
    fastmcp_as_of_2024_11_05_over_http: FastMcp "http" "2024-11-05" is "2024-11-05";
    fastmcp_as_of_2024_11_05_over_stdio: FastMcp "stdio" "2024-11-05" is "2024-11-05";
    fastmcp_as_of_2024_11_05_over_sse: FastMcp "sse" "2024-11-05" is "2024-11-05";
    typescript_with_sessions_over_http: TypeScript "http" "legacy" is "2025-11-25";
    typescript_with_sessions_over_stdio: TypeScript "stdio" "legacy" is "2025-11-25";
    typescript_with_sessions_over_sse: TypeScript "sse" "legacy" is "2025-11-25";
    typescript_stateless_over_http: TypeScript "http" "modern" is "2026-07-28";
    typescript_stateless_over_stdio: TypeScript "stdio" "modern" is "2026-07-28";
    typescript_finds_the_newest_over_http: TypeScript "http" "auto" is "2026-07-28";
    typescript_finds_the_newest_over_stdio: TypeScript "stdio" "auto" is "2026-07-28";
    typescript_as_of_2025_06_18_over_http: TypeScript "http" "2025-06-18" is "2025-06-18";
    typescript_as_of_2025_03_26_over_http: TypeScript "http" "2025-03-26" is "2025-03-26";
    typescript_as_of_2024_11_05_over_http: TypeScript "http" "2024-11-05" is "2024-11-05";
    typescript_as_of_2024_11_05_over_stdio: TypeScript "stdio" "2024-11-05" is "2024-11-05";
    typescript_as_of_2024_11_05_over_sse: TypeScript "sse" "2024-11-05" is "2024-11-05";
    typescript_v1_over_http: TypeScriptV1 "http" "legacy" is "2025-11-25";
    typescript_v1_over_stdio: TypeScriptV1 "stdio" "legacy" is "2025-11-25";
    typescript_v1_over_sse: TypeScriptV1 "sse" "legacy" is "2025-11-25";
    typescript_v1_as_of_2025_06_18_over_http: TypeScriptV1 "http" "2025-06-18" is "2025-06-18";
    typescript_v1_as_of_2025_03_26_over_http: TypeScriptV1 "http" "2025-03-26" is "2025-03-26";
    typescript_v1_as_of_2024_11_05_over_http: TypeScriptV1 "http" "2024-11-05" is "2024-11-05";
    typescript_v1_as_of_2024_11_05_over_stdio: TypeScriptV1 "stdio" "2024-11-05" is "2024-11-05";
    typescript_v1_as_of_2024_11_05_over_sse: TypeScriptV1 "sse" "2024-11-05" is "2024-11-05";
}
