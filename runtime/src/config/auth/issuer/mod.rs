//! `[[auth.issuers]]`: authorization servers, and which of their access tokens are accepted.
//!
//! Algorithms, pointers and URLs become types here, so that what verifies a token has no configuration left to check.

mod algorithm;
mod endpoint;
mod json_pointer;
mod jwks_source;

use std::path::Path;

pub use algorithm::JwtAlgorithm;
pub use endpoint::Endpoint;
pub use json_pointer::JsonPointer;
pub use jwks_source::JwksSource;

use super::resource::ResourceUri;
use crate::capability::plugin_grants::config::Secret;
use crate::toml_reader::{TomlEntry, TomlReader};

/// Longest audience and client id, bytes.
const MAX_TEXT: usize = 2_048;

const KEYS: &[&str] =
    &["issuer", "audience", "jwks", "algorithms", "strict_type", "introspection", "groups", "client"];

/// One authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerConfig {
    /// Its identifier, which tokens repeat in `iss` byte by byte. It is also the URL of its metadata.
    pub issuer: String,
    /// Audiences, of which a token must name one; without the key, the endpoints of this server by `resource` of
    /// `[auth]`.
    pub audiences: Vec<String>,
    /// Where its keys are.
    pub jwks: JwksSource,
    /// Algorithms that tokens may be signed with.
    pub algorithms: Vec<JwtAlgorithm>,
    /// Whether the header of a token must say that it is an access token (`typ`: `at+jwt`, RFC 9068).
    pub strict_type: bool,
    /// This server as a client of the authorization server, for tokens that only the latter can read (RFC 7662).
    pub introspection: Option<OAuthClient>,
    /// The claim that names the groups of a principal.
    pub groups: Option<JsonPointer>,
    /// The claim that names the OAuth client; `None`: `client_id`, or else `azp`.
    pub client: Option<JsonPointer>,
}

/// The credentials of this server at an authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthClient {
    /// The client id.
    pub client_id: String,
    /// The client secret.
    pub secret: Secret,
}

impl IssuerConfig {
    /// Reads the array of tables.
    pub(super) fn read_all(
        entry: TomlEntry<'_>,
        resource: Option<&ResourceUri>,
        base: &Path,
        reader: &mut TomlReader<'_>,
    ) -> Vec<Self> {
        let mut issuers: Vec<Self> = Vec::new();
        for item in entry.array(reader) {
            let (path, span) = (item.key.clone(), item.span.clone());
            let Some(issuer) = Self::read(item, resource, base, reader) else { continue };
            if issuers.iter().any(|other| other.issuer == issuer.issuer) {
                reader.report(span, &path, format!("has {} twice; remove one of the two", issuer.issuer));
            }
            issuers.push(issuer);
        }
        issuers
    }

    fn read(
        item: TomlEntry<'_>,
        resource: Option<&ResourceUri>,
        base: &Path,
        reader: &mut TomlReader<'_>,
    ) -> Option<Self> {
        let (path, span) = (item.key.clone(), item.span.clone());
        let mut table = item.table(reader)?;
        let issuer = table.take("issuer").and_then(|entry| read_issuer(&entry, reader));
        let audiences = match table.take("audience") {
            Some(entry) => read_audiences(entry, reader),
            // `[auth]` reports a `resource` that is missing.
            None => resource.map(default_audiences).unwrap_or_default(),
        };
        let introspection = table.take("introspection");
        let is_introspected = introspection.is_some();
        let introspection = introspection.and_then(|entry| OAuthClient::read(entry, base, reader));
        let jwks = match table.take("jwks") {
            Some(entry) => JwksSource::read(entry, is_introspected, base, reader),
            None => Some(JwksSource::Discover),
        };
        let algorithms = match table.take("algorithms") {
            Some(entry) => JwtAlgorithm::read_all(entry, reader),
            None => JwtAlgorithm::DEFAULT.to_vec(),
        };
        let strict_type =
            table.take("strict_type").and_then(|entry| entry.boolean(reader)).unwrap_or_default();
        let groups = table.take("groups").and_then(|entry| JsonPointer::read(&entry, reader));
        let client = table.take("client").and_then(|entry| JsonPointer::read(&entry, reader));
        table.finish(reader, KEYS);
        if issuer.is_none() && !reader.has_diagnostics(&path) {
            reader.report(span, &path, "needs `issuer`, the URL of an authorization server");
        }
        Some(Self {
            issuer: issuer?,
            audiences,
            jwks: jwks?,
            algorithms,
            strict_type,
            introspection,
            groups,
            client,
        })
    }
}

/// The endpoint of HTTP with SSE is a resource of its own, since clients compare the one of the metadata with its URL.
fn default_audiences(resource: &ResourceUri) -> Vec<String> {
    vec![resource.to_string(), resource.sibling("sse")]
}

/// An issuer stays as it is written, since tokens must repeat it byte by byte.
fn read_issuer(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<String> {
    let text = entry.string(reader)?;
    let why = match Endpoint::parse(&text) {
        Ok(_) if text.contains('?') => "must have no query".to_owned(),
        Ok(_) => return Some(text),
        Err(error) => error.to_string(),
    };
    reader.report(entry.span.clone(), &entry.key, why);
    None
}

fn read_audiences(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Vec<String> {
    let (path, span) = (entry.key.clone(), entry.span.clone());
    let audiences = entry.strings(reader);
    let is_audience = |text: &String| !text.is_empty() && text.len() <= MAX_TEXT;
    if (audiences.is_empty() || !audiences.iter().all(is_audience)) && !reader.has_diagnostics(&path) {
        let why =
            "must name the audiences of tokens for this server, such as [\"https://tools.example.com/mcp\"]";
        reader.report(span, &path, why);
    }
    audiences
}

impl OAuthClient {
    fn read(entry: TomlEntry<'_>, base: &Path, reader: &mut TomlReader<'_>) -> Option<Self> {
        let (path, span) = (entry.key.clone(), entry.span.clone());
        let mut table = entry.table(reader)?;
        let client_id = table.take("client_id").and_then(|entry| read_client_id(&entry, reader));
        let secret = table.take("secret").and_then(|entry| Secret::read(entry, base, reader));
        table.finish(reader, &["client_id", "secret"]);
        if (client_id.is_none() || secret.is_none()) && !reader.has_diagnostics(&path) {
            let why = "needs `client_id` and `secret`, with which this server introspects tokens";
            reader.report(span, &path, why);
        }
        Some(Self { client_id: client_id?, secret: secret? })
    }
}

fn read_client_id(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<String> {
    let id = entry.string(reader)?;
    let is_id = !id.is_empty() && id.len() <= MAX_TEXT && !id.contains(char::is_control);
    if !is_id {
        reader.report(
            entry.span.clone(),
            &entry.key,
            "must be the id of a client of the authorization server",
        );
    }
    is_id.then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, ConfigError};

    fn parse(base: &Path, text: &str) -> Result<Vec<IssuerConfig>, ConfigError> {
        let file = base.join("plugport.toml");
        let text = format!("[auth]\nresource = \"https://tools.example.com/mcp\"\n{text}");
        std::fs::write(&file, text).unwrap();
        let config = Config::read(&file, base.join("plugins"))?;
        Ok(config.auth.map(|auth| auth.issuers).unwrap_or_default())
    }

    #[test]
    fn an_issuer_needs_no_more_than_its_url() {
        let dir = tempfile::tempdir().unwrap();
        let text = "[[auth.issuers]]\nissuer = \"https://idp.example.com/team/\"\n";
        let issuers = parse(dir.path(), text).unwrap();
        let [issuer] = &issuers[..] else { panic!("not one issuer") };
        assert_eq!(issuer.issuer, "https://idp.example.com/team/", "tokens repeat it byte by byte");
        assert_eq!(issuer.audiences, ["https://tools.example.com/mcp", "https://tools.example.com/sse"]);
        assert_eq!((&issuer.jwks, issuer.algorithms.len()), (&JwksSource::Discover, 4));
        assert!(!issuer.strict_type && issuer.introspection.is_none() && issuer.groups.is_none());
    }

    #[test]
    fn every_key_of_an_issuer_is_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("keys.json"), "{\"keys\": []}").unwrap();
        std::fs::write(dir.path().join("secret"), "canary-secret\n").unwrap();
        let text = "[[auth.issuers]]\nissuer = \"https://a.example.com\"\naudience = [\"a\", \"b\"]\n\
                    jwks = { file = \"keys.json\" }\nalgorithms = [\"ES384\"]\nstrict_type = true\n\
                    introspection = { client_id = \"plugport\", secret = { file = \"secret\" } }\n\
                    groups = \"/realm_access/roles\"\nclient = \"/cid\"\n\
                    [[auth.issuers]]\nissuer = \"https://b.example.com\"\njwks = \"https://b.example.com/keys\"\n\
                    [[auth.issuers]]\nissuer = \"http://127.0.0.1:9000\"\njwks = \"none\"\n\
                    introspection = { client_id = \"plugport\", secret = { file = \"secret\" } }\n";
        let issuers = parse(dir.path(), text).unwrap();
        let [first, second, third] = &issuers[..] else { panic!("not three issuers") };
        assert_eq!(first.audiences, ["a", "b"]);
        assert_eq!(first.jwks, JwksSource::File(dir.path().join("keys.json")));
        assert!(first.strict_type && first.algorithms == [JwtAlgorithm::Es384]);
        assert_eq!(first.groups.as_ref().unwrap().as_str(), "/realm_access/roles");
        assert_eq!(first.client.as_ref().unwrap().as_str(), "/cid");
        let client = first.introspection.as_ref().unwrap();
        assert_eq!((client.client_id.as_str(), client.secret.expose_secret()), ("plugport", "canary-secret"));
        assert!(!format!("{issuers:?}").contains("canary"), "{issuers:?}");
        let url = Endpoint::parse("https://b.example.com/keys").unwrap();
        assert_eq!((&second.jwks, &third.jwks), (&JwksSource::Url(url), &JwksSource::None));
    }

    #[test]
    fn every_mistake_is_reported_with_its_line_and_key() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("keys.json"), "[]").unwrap();
        let text = "[[auth.issuers]]\nissuer = \"http://idp.example.com\"\naudience = [\"\"]\njwks = \"none\"\n\
                    algorithms = [\"HS256\", \"none\", \"RS265\"]\nstrict_type = \"strict\"\n\
                    introspection = { client_id = \"a\", secret = \"hunter2\" }\ngroups = \"groups\"\n\
                    client = \"/a~2\"\ntyp = 1\n\
                    [[auth.issuers]]\nissuer = \"https://a.example.com?b\"\njwks = { file = \"keys.json\" }\n\
                    algorithms = []\n\
                    [[auth.issuers]]\nissuer = \"https://c.example.com\"\njwks = \"keys.json\"\n\
                    [[auth.issuers]]\nissuer = \"https://d.example.com\"\n\
                    [[auth.issuers]]\nissuer = \"https://d.example.com\"\njwks = { file = \"none.json\" }\n";
        let message = parse(dir.path(), text).unwrap_err().to_string();
        for expected in [
            ":4: auth.issuers.issuer: must begin with https://",
            ":5: auth.issuers.audience: must name the audiences",
            ":7: auth.issuers.algorithms: `HS256` lets others forge tokens",
            ":7: auth.issuers.algorithms: `none` lets others forge tokens",
            ":7: auth.issuers.algorithms: `RS265` is not known; did you mean `RS256`?",
            ":8: auth.issuers.strict_type: expected true or false",
            ":9: auth.issuers.introspection.secret: say where the secret is",
            ":10: auth.issuers.groups: must be a JSON pointer",
            ":11: auth.issuers.client: must be a JSON pointer",
            ":12: auth.issuers.typ: unknown key",
            ":14: auth.issuers.issuer: must have no query",
            ":15: auth.issuers.jwks: ",
            "keys.json is no JSON Web Key Set",
            ":16: auth.issuers.algorithms: must name the algorithms",
            ":19: auth.issuers.jwks: must be \"discover\"",
            "none.json cannot be read",
        ] {
            assert!(message.contains(expected), "{expected:?} is not in:\n{message}");
        }
        assert!(!message.contains("hunter2"), "a secret was repeated:\n{message}");
        let twice = "[[auth.issuers]]\nissuer = \"https://d.example.com\"\n".repeat(2);
        let message = parse(dir.path(), &twice).unwrap_err().to_string();
        assert!(message.contains(":5: auth.issuers: has https://d.example.com twice"), "{message}");
        let without = "[[auth.issuers]]\njwks = \"discover\"\n";
        assert!(parse(dir.path(), without).unwrap_err().to_string().contains("needs `issuer`"));
    }
}
