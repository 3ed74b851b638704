//! Clients of other projects see a tool appear, change and vanish. With a session the server notifies them; without one
//! they subscribe to `list_changed`.

use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use plugport_tests::external_clients::ExternalClient::{self, Python, TypeScript};
use plugport_tests::reload::install_bytes;
use plugport_tests::server::{self, Server};
use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::{NotificationContext, RunningService, Subscription};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientServiceExt as _, RoleClient};
use tokio::sync::mpsc;

use crate::clients::python_typescript::{agrees, stdio_command};
use crate::clients::rmcp_client::ClientMode;
use crate::reload::drain::version_reporter;

/// How long a client may take for one step: an unoptimised server compiles the plugin first.
const TIMEOUT: Duration = Duration::from_secs(100);

/// The time for a client to open the stream of its session in the background.
const STREAM: Duration = Duration::from_millis(500);

const TOOL: &str = "r-version";
const FILE: &str = "r.wasm";

/// Publishes the tool, replaces it by another build, and removes it, each after the client has seen the step before.
async fn take_steps(steps: &Path, plugins: &Path) -> Result<()> {
    seen(steps, "listening").await?;
    install_bytes(&version_reporter(1), plugins, FILE);
    seen(steps, "appeared").await?;
    install_bytes(&version_reporter(2), plugins, FILE);
    seen(steps, "changed").await?;
    std::fs::remove_file(plugins.join(FILE))?;
    seen(steps, "vanished").await
}

async fn seen(steps: &Path, step: &str) -> Result<()> {
    let begun = Instant::now();
    while !steps.join(step).exists() {
        ensure!(begun.elapsed() < TIMEOUT, "the client was told to say `{step}` and never did");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Runs a script and the steps at the same time; returns the script's report, or an error.
async fn followed(
    script: impl Future<Output = Result<serde_json::Value>>,
    steps: &Path,
    plugins: &Path,
) -> Result<serde_json::Value> {
    let mut script = pin!(script);
    tokio::select! {
        report = script.as_mut() => report,
        outcome = take_steps(steps, plugins) => {
            outcome?;
            script.await
        }
    }
}

async fn over_http(client: ExternalClient, mode: &'static str, revision: &str) -> Result<()> {
    client.install().await?;
    let server = Server::builder().guest("polite").start().await;
    let steps = tempfile::tempdir()?;
    let script = client.follow("reload", "http", mode, steps.path(), vec![server.url()]);
    let report = followed(script, steps.path(), server.folder()).await;
    agrees(&report.with_context(|| format!("the server said:\n{}", server.log()))?, revision)
}

async fn over_stdio(client: ExternalClient, mode: &'static str, revision: &str) -> Result<()> {
    let (plugins, steps) = (server::folder(&["polite"]), tempfile::tempdir()?);
    let script = client.follow("reload", "stdio", mode, steps.path(), stdio_command(plugins.path())?);
    agrees(&followed(script, steps.path(), plugins.path()).await?, revision)
}

macro_rules! followers {
    ($( $name:ident: $client:ident $transport:ident $mode:literal is $revision:literal; )*) => {
        $(
            #[tokio::test]
            async fn $name() -> Result<()> {
                $transport($client, $mode, $revision).await
            }
        )*
    };
}

followers! {
    python_follows_in_a_session_over_http: Python over_http "legacy" is "2025-11-25";
    python_follows_in_a_session_over_stdio: Python over_stdio "legacy" is "2025-11-25";
    python_follows_a_subscription_over_http: Python over_http "modern" is "2026-07-28";
    python_follows_a_subscription_over_stdio: Python over_stdio "modern" is "2026-07-28";
    typescript_follows_in_a_session_over_http: TypeScript over_http "legacy" is "2025-11-25";
    typescript_follows_in_a_session_over_stdio: TypeScript over_stdio "legacy" is "2025-11-25";
    typescript_follows_a_subscription_over_http: TypeScript over_http "modern" is "2026-07-28";
    typescript_follows_a_subscription_over_stdio: TypeScript over_stdio "modern" is "2026-07-28";
}

/// Forwards `list_changed` of a session.
struct Listener(mpsc::Sender<()>);

impl ClientHandler for Listener {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.0.send(()).await;
    }
}

type Client = RunningService<RoleClient, Listener>;

/// The source of change notifications.
enum Changes {
    Unasked(mpsc::Receiver<()>),
    Subscribed(Box<Subscription>),
}

impl Changes {
    async fn next(&mut self) -> Result<()> {
        match self {
            Self::Unasked(changes) => changes.recv().await.context("the client has ended"),
            Self::Subscribed(subscription) => {
                let notification = subscription.next().await?.context("the subscription has ended")?;
                let tools = matches!(notification, ServerNotification::ToolListChangedNotification(_));
                ensure!(tools, "{notification:?}");
                Ok(())
            }
        }
    }

    /// Waits for a change notification after which the tool has this description.
    async fn until(&mut self, client: &Client, expected: Option<&str>) -> Result<()> {
        let told = async {
            loop {
                self.next().await?;
                if described(client).await?.as_deref() == expected {
                    return Ok(());
                }
            }
        };
        let told = tokio::time::timeout(TIMEOUT, told).await;
        told.unwrap_or_else(|_| anyhow::bail!("nothing told of {expected:?}"))
    }
}

/// The tool's description; `None` when it is not listed.
async fn described(client: &Client) -> Result<Option<String>> {
    let tools = client.list_all_tools().await?;
    let tool = tools.into_iter().find(|tool| tool.name == TOOL);
    Ok(tool.map(|tool| tool.description.unwrap_or_default().into_owned()))
}

async fn follow<T, E, A>(transport: T, client_mode: ClientMode, plugins: &Path) -> Result<()>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let (tell, told) = mpsc::channel(64);
    let client = Listener(tell).serve_with_lifecycle(transport, client_mode.lifecycle()).await?;
    ensure!(described(&client).await?.is_none(), "the tool is there before it was published");
    let mut changes = if client_mode == ClientMode::Sessions {
        tokio::time::sleep(STREAM).await;
        Changes::Unasked(told)
    } else {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        Changes::Subscribed(Box::new(client.listen(filter).await?))
    };
    install_bytes(&version_reporter(1), plugins, FILE);
    changes.until(&client, Some("Say that this is variant 1.")).await?;
    install_bytes(&version_reporter(2), plugins, FILE);
    changes.until(&client, Some("Say that this is variant 2.")).await?;
    std::fs::remove_file(plugins.join(FILE))?;
    changes.until(&client, None).await?;
    client.cancel().await?;
    Ok(())
}

async fn rmcp_over_http(client_mode: ClientMode) -> Result<()> {
    let server = Server::builder().guest("polite").start().await;
    let followed =
        follow(StreamableHttpClientTransport::from_uri(server.url()), client_mode, server.folder()).await;
    followed.with_context(|| format!("the server said:\n{}", server.log()))
}

async fn rmcp_over_stdio(client_mode: ClientMode) -> Result<()> {
    let plugins = server::folder(&["polite"]);
    let words = stdio_command(plugins.path())?;
    let mut command = tokio::process::Command::new(&words[0]);
    command.args(&words[1..]);
    follow(TokioChildProcess::new(command)?, client_mode, plugins.path()).await
}

#[tokio::test]
async fn rmcp_follows_in_a_session_over_http() -> Result<()> {
    rmcp_over_http(ClientMode::Sessions).await
}

#[tokio::test]
async fn rmcp_follows_in_a_session_over_stdio() -> Result<()> {
    rmcp_over_stdio(ClientMode::Sessions).await
}

#[tokio::test]
async fn rmcp_follows_a_subscription_over_http() -> Result<()> {
    rmcp_over_http(ClientMode::Stateless).await
}

#[tokio::test]
async fn rmcp_follows_a_subscription_over_stdio() -> Result<()> {
    rmcp_over_stdio(ClientMode::Stateless).await
}
