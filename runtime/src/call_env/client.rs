//! The client of one call, as host functions see it: who it is, notifications to it and client requests.
//!
//! The trait belongs to this layer and the layer `mcp` implements it, so that no file here knows a revision, a session
//! or a stream. One `Client` serves one call.

use std::fmt;
use std::future::ready;
use std::net::IpAddr;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::task_switch::TaskSwitch;
use crate::access::policy::Subject;
use crate::access::{AuthenticatedCaller, CallCharge, network_of_client};
use crate::observe::trace::SpanScope;
use crate::token_bucket::CallerKey;

/// Severity of a log message, as in RFC 5424 and the WIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For debugging the plugin.
    Debug,
    /// Normal operation.
    Info,
    /// Normal but significant.
    Notice,
    /// Something may be wrong.
    Warning,
    /// Something failed.
    Error,
    /// A component failed.
    Critical,
    /// Someone must act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

/// The caller of a request: its principal, or where the request comes from if nobody was authenticated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Caller {
    /// The client that started this process and holds its pipes.
    Stdio,
    /// An authenticated client of HTTP.
    Principal(AuthenticatedCaller),
    /// A client of HTTP without credentials.
    Address(IpAddr),
    /// Not known.
    Unknown,
    /// The command line of this program.
    CommandLine,
    /// The server itself, to learn what a plugin lists.
    Server,
}

impl Caller {
    /// The principal's id; `None` without authentication. Two callers own the same sessions and suspended calls if this
    /// is the same; an address owns nothing, since it changes.
    #[must_use]
    pub fn principal_id(&self) -> Option<&Arc<str>> {
        match self {
            Self::Principal(authenticated) => Some(&authenticated.principal.id),
            Self::Stdio | Self::Address(_) | Self::Unknown | Self::CommandLine | Self::Server => None,
        }
    }

    /// The principal and its address; `None` without authentication.
    #[must_use]
    pub fn authenticated(&self) -> Option<&AuthenticatedCaller> {
        match self {
            Self::Principal(authenticated) => Some(authenticated),
            Self::Stdio | Self::Address(_) | Self::Unknown | Self::CommandLine | Self::Server => None,
        }
    }

    /// The name under which a guest knows its caller.
    #[must_use]
    pub fn name_for_guest(&self) -> Option<&str> {
        match self {
            Self::Principal(authenticated) => Some(&authenticated.principal.id),
            Self::Stdio => Some("stdio"),
            Self::Address(_) | Self::Unknown | Self::CommandLine | Self::Server => None,
        }
    }

    /// The name of the store that each plugin has for this caller, where callers have stores. `None`: there is none,
    /// since the caller is not known, and an address is shared and changes hands. The user who runs this program is one
    /// caller on stdio and on the command line, as for roles. The server lists plugins with a store of its own, since
    /// every caller sees the lists. A principal's id begins with its kind, so none is one of these names.
    #[must_use]
    pub fn store_name(&self) -> Option<&str> {
        match self {
            Self::Principal(authenticated) => Some(&authenticated.principal.id),
            Self::Stdio | Self::CommandLine => Some("stdio"),
            Self::Server => Some("server"),
            Self::Address(_) | Self::Unknown => None,
        }
    }

    /// The caller as roles see it. The user who runs this program may do everything.
    #[must_use]
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::Principal(AuthenticatedCaller { principal, address }) => {
                Subject::Http { principal: Some(principal), address: *address }
            }
            Self::Address(address) => Subject::Http { principal: None, address: Some(*address) },
            Self::Unknown => Subject::Http { principal: None, address: None },
            Self::Stdio | Self::CommandLine | Self::Server => Subject::Stdio,
        }
    }
}

impl CallerKey for Caller {
    fn key(&self) -> Self {
        let Self::Address(address) = self else { return self.clone() };
        Self::Address(network_of_client(*address))
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio => f.write_str("stdio"),
            Self::Principal(authenticated) => authenticated.principal.fmt(f),
            Self::Address(address) => address.fmt(f),
            Self::Unknown => f.write_str("unknown"),
            Self::CommandLine => f.write_str("command line"),
            Self::Server => f.write_str("server"),
        }
    }
}

/// What is known of the client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientInfo {
    /// The client's name, empty if it gave none.
    pub name: String,
    /// The client's version, empty if it gave none.
    pub version: String,
    /// The MCP revision spoken, e.g. `2026-07-28`; empty without a client.
    pub protocol: String,
    /// Whether it supports sampling.
    pub sampling: bool,
    /// Whether it supports elicitation.
    pub elicitation: bool,
    /// Whether it supports roots.
    pub roots: bool,
    /// The names of the extensions that it declared.
    pub extensions: Vec<String>,
    /// Whether it runs on this machine for certain.
    pub is_local: bool,
}

/// A client request.
#[derive(Debug, Clone)]
pub struct ClientRequest {
    /// The guest's name for the request, unique among those that it sends together. `None`: the server names it.
    pub key: Option<String>,
    /// Its method and parameters.
    pub body: ClientRequestBody,
}

/// The method of a client request, with its parameters as in the newest revision.
#[derive(Debug, Clone)]
pub enum ClientRequestBody {
    /// `sampling/createMessage`.
    CreateMessage(String),
    /// `elicitation/create`.
    Elicit(String),
    /// `roots/list`.
    ListRoots,
}

impl ClientRequestBody {
    /// Its method.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match self {
            Self::CreateMessage(_) => "sampling/createMessage",
            Self::Elicit(_) => "elicitation/create",
            Self::ListRoots => "roots/list",
        }
    }

    /// The client capability that the request needs.
    #[must_use]
    pub fn capability(&self) -> &'static str {
        match self {
            Self::CreateMessage(_) => "sampling",
            Self::Elicit(_) => "elicitation",
            Self::ListRoots => "roots",
        }
    }

    /// Its parameters, as JSON; empty when it has none.
    pub(crate) fn params(&self) -> &str {
        match self {
            Self::CreateMessage(params) | Self::Elicit(params) => params,
            Self::ListRoots => "",
        }
    }

    /// Its text, bytes.
    pub(crate) fn size(&self) -> usize {
        self.params().len()
    }
}

/// Why a client request has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientRequestError {
    /// The client lacks this capability: `sampling`, `sampling.tools`, `elicitation.url`, …
    Missing(&'static str),
    /// The request is not valid: what is wrong with it.
    Invalid(String),
    /// The client's user rejected it.
    Rejected(String),
    /// No response in time.
    TimedOut,
    /// The client withdrew the request.
    Cancelled,
    /// Too many calls are suspended.
    OverBudget(String),
    /// The caller has used up a quota, so the request was not sent.
    OverQuota(String),
    /// The client failed, or its response cannot be used.
    Failed {
        /// Its JSON-RPC code.
        code: i32,
        /// In words.
        message: String,
    },
}

impl ClientRequestError {
    /// Whether the request certainly did not reach the client, so that it cost nothing.
    #[must_use]
    pub fn was_never_sent(&self) -> bool {
        // A user may reject the output of a model that was paid for already.
        matches!(self, Self::Missing(_) | Self::Invalid(_) | Self::OverQuota(_))
    }
}

/// The results of several client requests, in their order, each as JSON.
pub type ClientResponses = Vec<Result<String, ClientRequestError>>;

/// The client of one call.
pub trait Client: Send + Sync {
    /// The caller of the request.
    fn caller(&self) -> Caller;
    /// What the call is charged to; `None`: no quota holds.
    fn charge(&self) -> Option<Arc<CallCharge>> {
        None
    }
    /// The names of the roles that allow the call, for the audit; `None` without `[roles]`.
    fn roles(&self) -> Option<Arc<str>> {
        None
    }
    /// What is known of the client.
    fn info(&self) -> ClientInfo;
    /// Length of the request's `_meta`, bytes, by which reading it is charged.
    fn meta_size(&self) -> usize;
    /// The request's `_meta` without the keys that the protocol reserves, as a JSON object.
    fn meta(&self) -> Option<String>;
    /// Whether the client has withdrawn the request.
    fn cancelled(&self) -> bool;
    /// The span of the request; `None`: the request is not recorded.
    fn trace(&self) -> Option<SpanScope> {
        None
    }
    /// Tells whoever runs the call when it has become a task; `None`: it never does.
    fn task_switch(&self) -> Option<&Arc<TaskSwitch>> {
        None
    }
    /// Makes the call a task, if the client knows tasks and there is room for one. Whether it is one now. `status` is
    /// for people.
    fn detach<'a>(&'a self, status: Option<&'a str>) -> BoxFuture<'a, bool> {
        let _ = status;
        ready(false).boxed()
    }
    /// The client's roots, as the JSON of its response, if the client supports roots and is on this machine. Sends
    /// `roots/list` if they are not known yet.
    fn local_roots(&self) -> BoxFuture<'_, Option<String>> {
        ready(None).boxed()
    }
    /// Sends a log message; `data` is JSON on one line.
    fn log(&self, level: LogLevel, logger: Option<&str>, data: &serde_json::value::RawValue);
    /// Sends a progress notification; `progress` only grows.
    fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>);
    /// Sends client requests and waits for the responses. Dropping the future withdraws the requests.
    fn send_requests(&self, requests: Vec<ClientRequest>) -> BoxFuture<'_, ClientResponses>;
}

/// Stands for the client in a call that has none, and names the caller.
#[derive(Debug, Clone)]
pub struct NoClient(pub Caller);

impl Client for NoClient {
    fn caller(&self) -> Caller {
        self.0.clone()
    }

    fn info(&self) -> ClientInfo {
        ClientInfo::default()
    }

    fn meta_size(&self) -> usize {
        0
    }

    fn meta(&self) -> Option<String> {
        None
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn log(&self, _: LogLevel, _: Option<&str>, _: &serde_json::value::RawValue) {}

    fn progress(&self, _: f64, _: Option<f64>, _: Option<&str>) {}

    fn send_requests(&self, requests: Vec<ClientRequest>) -> BoxFuture<'_, ClientResponses> {
        let lacking = |request: &ClientRequest| Err(ClientRequestError::Missing(request.body.capability()));
        ready(requests.iter().map(lacking).collect()).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_is_one_caller_and_an_address_of_ipv4_another() {
        let key = |text: &str| Caller::Address(text.parse().unwrap()).key();
        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::9"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
        assert_ne!(key("::ffff:192.0.2.1"), key("192.0.2.2"));
        assert_eq!(Caller::Stdio.key(), Caller::Stdio);
    }

    #[test]
    fn whoever_may_be_another_has_no_store() {
        let names = [Caller::Stdio, Caller::CommandLine, Caller::Server]
            .map(|caller| caller.store_name().map(str::to_owned));
        assert_eq!(names.each_ref().map(Option::as_deref), [Some("stdio"), Some("stdio"), Some("server")]);
        assert_eq!(Caller::Unknown.store_name(), None);
        assert_eq!(Caller::Address([192, 0, 2, 1].into()).store_name(), None);
    }
}
