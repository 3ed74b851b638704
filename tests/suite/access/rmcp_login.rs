//! rmcp, the official Rust SDK, logs in against a real authorization server: discovery, token, call, step-up, call.
//!
//! The SDK says which address a person has to visit and takes the one to which that person is sent back; the
//! authorization server approves at once. It runs in this process, so a failure can be debugged.

use anyhow::{Context as _, Result, ensure};
use plugport_tests::authorization_server::AuthorizationServer;
use reqwest::redirect::Policy;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion,
};
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::transport::auth::{AuthorizationCallback, OAuthState};
use rmcp::transport::streamable_http_client::{InsufficientScopeError, StreamableHttpClientTransportConfig};
use rmcp::transport::{
    AuthClient, AuthorizationRequest, ClientCredentialsConfig, IntoTransport, StreamableHttpClientTransport,
};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient, ServiceError};
use serde_json::{Value, json};

use super::protected;

/// Nothing listens there: the redirect is read, not followed.
const REDIRECT_URI: &str = "http://127.0.0.1:7591/callback";

type Authorized = AuthClient<reqwest::Client>;
type Client = RunningService<RoleClient, Handler>;

/// How the client gets its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grant {
    /// A person logs in, and the client registers itself.
    Registered,
    /// A person logs in, and a document says who the client is.
    Document,
    /// A person logs in, and the authorization server knows the client.
    Public,
    /// The client logs in with a secret.
    Secret,
}

/// A client of one revision.
struct Handler {
    revision: ProtocolVersion,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let info =
            ClientConfig::new(ClientCapabilities::default(), Implementation::new("plugport-tests", "1.0.0"));
        info.with_protocol_version(self.revision.clone())
    }
}

/// Connects; the error of a client without a token holds the server's challenge.
async fn connect<T, E, A>(
    transport: T,
    revision: &ProtocolVersion,
) -> Result<Client, Box<ClientInitializeError>>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let lifecycle = if *revision == ProtocolVersion::V_2026_07_28 {
        ClientLifecycleMode::Discover { preferred_versions: vec![revision.clone()] }
    } else {
        ClientLifecycleMode::Initialize
    };
    let handler = Handler { revision: revision.clone() };
    handler.serve_with_lifecycle(transport, lifecycle).await.map_err(Box::new)
}

/// Visits the authorization server as a person does, and returns where it sends the person.
async fn visit(url: &str) -> Result<String> {
    let browser = reqwest::Client::builder().redirect(Policy::none()).build()?;
    let response = browser.get(url).send().await?;
    let location = response.headers().get("location").and_then(|value| value.to_str().ok());
    let location = location.with_context(|| format!("the login is approved; found {}", response.status()))?;
    ensure!(location.starts_with(REDIRECT_URI), "the login was not approved: {location}");
    Ok(location.to_owned())
}

fn machine(introduction: &Value, url: &str, scopes: &[&str]) -> Result<ClientCredentialsConfig> {
    // The SDK sends its secret in the body wherever the authorization server knows that method.
    let client = &introduction["machine_post"];
    let field = |name: &str| client[name].as_str().map(str::to_owned).context("the client is introduced");
    Ok(ClientCredentialsConfig::ClientSecret {
        client_id: field("client_id")?,
        client_secret: field("client_secret")?,
        scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
        resource: Some(url.to_owned()),
    })
}

async fn log_in(grant: Grant, introduction: &Value, url: &str, challenge: &str) -> Result<Authorized> {
    let mut state = OAuthState::new(url, None).await?;
    let known = |name: &str| introduction[name].as_str().map(str::to_owned).context("it is introduced");
    let request = AuthorizationRequest::new(REDIRECT_URI).with_client_name("plugport-tests");
    let request = match grant {
        Grant::Registered => request,
        Grant::Document => request.with_client_metadata_url(known("client_document")?),
        Grant::Public => request.with_preregistered_client(known("public_client")?),
        Grant::Secret => {
            state.authenticate_client_credentials(machine(introduction, url, &["tools"])?).await?;
            return authorized(state);
        }
    };
    state.start_authorization(request.with_challenge(challenge)).await?;
    let callback = visit(&state.get_authorization_url().await?).await?;
    state.handle_callback_url(&callback).await?;
    authorized(state)
}

fn authorized(state: OAuthState) -> Result<Authorized> {
    let manager = state.into_authorization_manager().context("the SDK has a token")?;
    Ok(AuthClient::new(reqwest::Client::new(), manager))
}

/// Gets a token with more scopes, which the client uses from its next request on.
async fn step_up(
    client: &Authorized,
    grant: Grant,
    introduction: &Value,
    url: &str,
    scope: &str,
) -> Result<()> {
    let manager = client.auth_manager.lock().await;
    if grant == Grant::Secret {
        manager.exchange_client_credentials(&machine(introduction, url, &["tools", scope])?).await?;
        return Ok(());
    }
    let callback = visit(&manager.request_scope_upgrade(scope).await?).await?;
    let AuthorizationCallback { code, csrf_token, issuer, .. } =
        AuthorizationCallback::from_redirect_url(&callback)?;
    manager.exchange_code_for_token_with_issuer(&code, &csrf_token, issuer.as_deref()).await?;
    Ok(())
}

/// The scope that the server demands, if that is why the call failed.
fn demanded(error: &ServiceError) -> Option<String> {
    let ServiceError::TransportSend(error) = error else { return None };
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error.error.as_ref());
    while let Some(error) = source {
        if let Some(insufficient) = error.downcast_ref::<InsufficientScopeError>() {
            return insufficient.get_required_scope().map(str::to_owned);
        }
        source = error.source();
    }
    None
}

fn params(tool: &'static str, arguments: &Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().cloned().unwrap_or_default())
}

async fn echo(client: &Client) -> Result<()> {
    let result: CallToolResult =
        client.call_tool(params("polite-echo", &json!({ "message": "héllo ✓" }))).await?;
    let said = result.content.iter().find_map(|block| block.as_text()).map(|block| block.text.as_str());
    ensure!(said == Some("héllo ✓"), "{result:?}");
    Ok(())
}

async fn converse(revision: ProtocolVersion, grant: Grant) -> Result<()> {
    let issuer = AuthorizationServer::start(&[]).await?;
    let introduction: Value = serde_json::from_str(&issuer.introduction)?;
    let server = protected(&issuer, &["polite"], "").await;
    let url = server.url();

    let anonymous = StreamableHttpClientTransport::from_uri(url.clone());
    let refused = connect(anonymous, &revision).await.err().context("401 without a token")?;
    let challenge = refused.auth_challenge().with_context(|| format!("no challenge in {refused:?}"))?;
    ensure!(challenge.contains("resource_metadata=") && challenge.contains("scope=\"tools\""), "{challenge}");

    let authorized = log_in(grant, &introduction, &url, challenge).await?;
    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
    let transport = StreamableHttpClientTransport::with_client(authorized.clone(), config);
    let client = connect(transport, &revision).await?;
    let spoken = client.peer_info().context("the server introduced itself")?.protocol_version.clone();
    ensure!(spoken == revision, "the revision is {spoken}");
    let tools = client.list_all_tools().await?;
    ensure!(tools.iter().any(|tool| tool.name == "polite-add"), "a tool that lacks only a scope is listed");
    echo(&client).await?;

    let add = params("polite-add", &json!({ "a": 2, "b": 40 }));
    let error = client.call_tool(add.clone()).await.err().context("403 without the scope")?;
    let scope = demanded(&error).with_context(|| format!("no scope in {error:?}"))?;
    ensure!(scope == "tools:write", "{scope}");
    step_up(&authorized, grant, &introduction, &url, &scope).await?;
    let added = client.call_tool(add).await?;
    ensure!(added.structured_content == Some(json!({ "sum": 42 })), "{added:?}");
    echo(&client).await?;
    client.cancel().await?;
    Ok(())
}

macro_rules! logins {
    ($( $name:ident: $grant:ident in $revision:ident; )*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() -> Result<()> {
                converse(ProtocolVersion::$revision, Grant::$grant).await
            }
        )*
    };
}

logins! {
    rmcp_registers_itself_and_steps_up: Registered in V_2025_06_18;
    rmcp_shows_a_document_and_steps_up: Document in V_2025_11_25;
    rmcp_is_known_and_steps_up: Public in V_2026_07_28;
    rmcp_with_a_secret_steps_up: Secret in V_2025_11_25;
    rmcp_with_a_secret_steps_up_without_sessions: Secret in V_2026_07_28;
}
