//! The URIs that a client may have used for a request. Its DPoP proof must name one of them.
//!
//! They come from `resource` in the configuration and never from `Host`, which an attacker who replays a request may
//! choose.

use super::legacy_sse;
use crate::config::AuthConfig;

/// Returns the URIs under which clients know the endpoint at the path `requested`; none without `resource`.
///
/// There are two: the endpoint next to `resource`, and the path as it arrived. A proxy may have removed a prefix from
/// the path or not, and `resource` may name the whole server. Accepting both does not help a thief, because a proof
/// also names its token, and the token is for this server.
pub(super) fn target_uris(auth: &AuthConfig, requested: &str) -> Vec<String> {
    let Some(resource) = &auth.resource else { return Vec::new() };
    let requested = requested.strip_suffix('/').unwrap_or(requested);
    let named = match requested {
        legacy_sse::STREAM | legacy_sse::MESSAGES => resource.sibling(requested.trim_start_matches('/')),
        _ => resource.to_string(),
    };
    vec![named, format!("{}{requested}", resource.origin())]
}

#[cfg(test)]
mod tests {
    use super::super::resource_metadata::tests::{auth, prefixed};
    use super::*;

    #[test]
    fn a_client_may_have_used_what_the_configuration_says() {
        let base = "https://tools.example.com";
        for (requested, named, arrived) in [
            ("/mcp", "/team/mcp", "/mcp"),
            ("/mcp/", "/team/mcp", "/mcp"),
            ("/sse", "/team/sse", "/sse"),
            ("/messages", "/team/messages", "/messages"),
        ] {
            let expected = [format!("{base}{named}"), format!("{base}{arrived}")];
            assert_eq!(target_uris(&prefixed(), requested), expected, "{requested}");
        }
        let root = auth("resource = \"https://tools.example.com\"\n");
        assert_eq!(target_uris(&root, "/mcp"), [base.to_owned(), format!("{base}/mcp")]);
        assert!(target_uris(&auth(""), "/mcp").is_empty());
    }
}
