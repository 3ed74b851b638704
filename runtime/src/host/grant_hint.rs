//! How to grant what a plugin was denied: a line of the configuration for the operator, or the `--grant` options of a
//! command that calls one tool.

use std::fmt;

use crate::observe::shell_quote;

/// Who reads the hint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum HintAudience {
    /// Whoever runs the server.
    #[default]
    Operator,
    /// Whoever called one tool, with `--grant`.
    CommandLine,
}

/// What would allow something. It may hold a guest's own words.
#[derive(Debug, Clone)]
pub(crate) struct GrantHint {
    /// The line under the plugin's grants.
    pub(crate) line: String,
    /// The same for `--grant`; none for what needs a client, or what it has no form for.
    grants: Vec<String>,
}

impl GrantHint {
    /// A line, and what `--grant` takes instead.
    pub(crate) fn new(line: impl Into<String>, grants: impl IntoIterator<Item = String>) -> Self {
        Self { line: line.into(), grants: grants.into_iter().collect() }
    }

    /// Tells what to do to have it.
    pub(crate) fn sentence(&self, to: &str, plugin: &str, audience: HintAudience) -> String {
        let Self { line, grants } = self;
        match audience {
            HintAudience::CommandLine if grants.is_empty() => {
                format!(
                    "{to}, serve it with `plugport serve` and write under [plugins.{plugin}.grants]: {line}"
                )
            }
            HintAudience::CommandLine => format!("{to}, add {}", GrantOptions(grants)),
            HintAudience::Operator => format!("{to}, write under [plugins.{plugin}.grants]: {line}"),
        }
    }
}

impl<T: AsRef<str>> From<T> for GrantHint {
    fn from(line: T) -> Self {
        Self::new(line.as_ref(), [])
    }
}

/// Options, as a shell takes them.
struct GrantOptions<'a>(&'a [String]);

impl fmt::Display for GrantOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, grant) in self.0.iter().enumerate() {
            write!(f, "{}--grant {}", if at == 0 { "" } else { " " }, shell_quote(grant))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_can_allow_it_is_told_how() {
        let http =
            GrantHint::new("http = [\"GET https://a.example\"]", ["http=GET https://a.example".into()]);
        let told = |allow: &GrantHint, audience| allow.sentence("to allow it", "p", audience);
        assert_eq!(
            told(&http, HintAudience::Operator),
            "to allow it, write under [plugins.p.grants]: http = [\"GET https://a.example\"]"
        );
        assert_eq!(
            told(&http, HintAudience::CommandLine),
            "to allow it, add --grant 'http=GET https://a.example'"
        );
        let two = GrantHint::new("", ["kv".into(), "config=it's=x".into()]);
        assert_eq!(
            told(&two, HintAudience::CommandLine),
            r"to allow it, add --grant kv --grant 'config=it'\''s=x'"
        );
        assert_eq!(
            told(&"sampling = true".into(), HintAudience::CommandLine),
            "to allow it, serve it with `plugport serve` and write under [plugins.p.grants]: sampling = true"
        );
    }
}
