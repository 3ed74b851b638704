//! Which era a request belongs to, and what a stateless request says of itself.
//!
//! A request that carries the protocol version in its own `_meta` is stateless; `initialize` and everything else belong
//! to a session (2026-07-28, basic/versioning). Both eras are served side by side.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::context::parse_level;
use super::error::RpcError;
use super::message::Request;
use super::method::Method;
use super::revision::Revision;
use crate::host::{ClientInfo, LogLevel};

/// Prefix of the keys of `_meta` that the protocol reserves for itself.
const RESERVED: &str = "io.modelcontextprotocol/";

/// How a request is to be served.
#[derive(Debug)]
pub(crate) enum Era {
    /// On its own.
    Stateless(Claims),
    /// It begins a session.
    Initialize,
    /// In the session it names.
    Session,
}

/// What a stateless request says of its client.
#[derive(Debug)]
pub(crate) struct Claims {
    pub(crate) revision: Revision,
    pub(crate) client: ClientInfo,
    pub(crate) log_level: Option<LogLevel>,
}

/// `_meta` of any request: what both eras read from it.
#[derive(Deserialize, Default)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<Implementation<'a>>,
    #[serde(borrow, rename = "io.modelcontextprotocol/logLevel")]
    log_level: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
}

/// Name and version of a client.
#[derive(Deserialize, Default)]
pub(crate) struct Implementation<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    version: Cow<'a, str>,
}

impl Implementation<'_> {
    pub(crate) fn into_client(self, revision: Revision) -> ClientInfo {
        ClientInfo {
            name: self.name.into_owned(),
            version: self.version.into_owned(),
            protocol: revision.as_str().to_owned(),
        }
    }
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

/// The text of `_meta`, if there is one.
pub(crate) fn meta_of(params: Option<&RawValue>) -> Option<&RawValue> {
    serde_json::from_str::<Params<'_>>(params?.get()).ok()?.meta
}

/// Reads `progressToken` from `_meta`: a string or an integer.
pub(crate) fn progress_token(meta: Option<&RawValue>) -> Option<Box<RawValue>> {
    let token = serde_json::from_str::<Meta<'_>>(meta?.get()).ok()?.progress_token?;
    let usable = token.get().starts_with('"') || token.get().parse::<i64>().is_ok();
    usable.then(|| token.to_owned())
}

/// Whether a key of `_meta` belongs to the protocol and not to whoever reads the request.
pub(crate) fn is_reserved(key: &str) -> bool {
    key.starts_with(RESERVED) || key == "progressToken"
}

impl Era {
    /// Decides the era of a request.
    ///
    /// # Errors
    /// When it is stateless and does not say all that it must.
    pub(crate) fn of(request: &Request) -> Result<Self, RpcError> {
        let unstated = if request.method == Method::Initialize { Self::Initialize } else { Self::Session };
        let Some(meta) = meta_of(request.params.as_deref()) else {
            return Ok(unstated);
        };
        let meta: Meta<'_> = match serde_json::from_str(meta.get()) {
            Ok(meta) => meta,
            Err(error) => return Err(RpcError::invalid_meta(&format!("`_meta` is malformed: {error}"))),
        };
        match meta.version {
            None => Ok(unstated),
            Some(version) => Claims::read(version, meta).map(Self::Stateless),
        }
    }
}

impl Claims {
    fn read(version: &RawValue, meta: Meta<'_>) -> Result<Self, RpcError> {
        let version: String = serde_json::from_str(version.get())
            .map_err(|_| RpcError::invalid_meta("`_meta` needs the protocol version as a string"))?;
        let revision = Revision::parse(&version).filter(|revision| revision.is_stateless());
        let revision = revision.ok_or_else(|| RpcError::unsupported_version(&version))?;
        if !meta.capabilities.is_some_and(|capabilities| capabilities.get().starts_with('{')) {
            let missing =
                format!("`_meta` needs `{RESERVED}clientCapabilities`, an object that may be empty");
            return Err(RpcError::invalid_meta(&missing));
        }
        let log_level = meta.log_level.as_deref().map(parse_level).transpose()?;
        Ok(Self { revision, client: meta.client.unwrap_or_default().into_client(revision), log_level })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::message::Id;

    fn era(method: &str, params: &str) -> Result<Era, RpcError> {
        let params = Some(RawValue::from_string(params.to_owned()).unwrap());
        Era::of(&Request { id: Id::Number(1), method: Method::parse(method), params })
    }

    #[test]
    fn a_request_that_names_its_revision_is_stateless() {
        let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
            "io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"warning"}}"#;
        let Ok(Era::Stateless(claims)) = era("tools/list", meta) else { panic!() };
        assert_eq!(claims.log_level, Some(LogLevel::Warning));
        assert!(matches!(era("tools/list", "{}"), Ok(Era::Session)));
        assert!(matches!(era("tools/list", r#"{"_meta":{"progressToken":1}}"#), Ok(Era::Session)));
        assert!(matches!(era("initialize", "{}"), Ok(Era::Initialize)));
    }

    #[test]
    fn a_stateless_request_must_say_who_asks() {
        let version = |version: &str, rest: &str| {
            let params =
                format!(r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":{version}{rest}}}}}"#);
            let error = era("tools/list", &params).unwrap_err();
            (error.code, error.status.as_u16())
        };
        assert_eq!(version("\"2026-07-28\"", ""), (-32602, 400));
        assert_eq!(version("5", ""), (-32602, 400));
        assert_eq!(version("\"2031-01-01\"", ""), (-32022, 400));
        assert_eq!(version("\"2025-11-25\"", ""), (-32022, 400));
        let level =
            r#","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"loud""#;
        assert_eq!(version("\"2026-07-28\"", level).0, -32602);
    }

    #[test]
    fn progress_tokens_are_strings_or_integers() {
        let token = |text: &str| progress_token(Some(&RawValue::from_string(text.to_owned()).unwrap()));
        assert_eq!(token(r#"{"progressToken":"p"}"#).unwrap().get(), "\"p\"");
        assert_eq!(token(r#"{"progressToken":7}"#).unwrap().get(), "7");
        assert!(token(r#"{"progressToken":null}"#).is_none());
        assert!(token(r#"{"progressToken":{}}"#).is_none());
    }
}
