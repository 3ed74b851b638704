//! How to grant what a plugin was denied: a line of the configuration for the operator, or the `--grant` options of a
//! command that calls one tool.

use std::fmt;

use crate::observe::shell_quote;

/// Who reads the hint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum HintAudience {
    /// The operator, in the log of the server.
    #[default]
    Operator,
    /// The user of a command that calls one tool and takes `--grant`.
    CommandLine,
}

/// What would grant something. It may contain text of the guest.
#[derive(Debug, Clone)]
pub(crate) struct GrantHint {
    /// The line under the plugin's grants.
    pub(crate) line: String,
    /// The same for `--grant`; empty for a grant that has no form on the command line.
    grants: Vec<String>,
}

impl GrantHint {
    /// A line, and the values of `--grant` that do the same.
    pub(crate) fn new(line: impl Into<String>, grants: impl IntoIterator<Item = String>) -> Self {
        Self { line: line.into(), grants: grants.into_iter().collect() }
    }

    /// The sentence that says what to do.
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
    fn the_hint_is_for_the_one_who_can_grant() {
        let http =
            GrantHint::new("http = [\"GET https://a.example\"]", ["http=GET https://a.example".into()]);
        let sentence = |hint: &GrantHint, audience| hint.sentence("to allow it", "p", audience);
        assert_eq!(
            sentence(&http, HintAudience::Operator),
            "to allow it, write under [plugins.p.grants]: http = [\"GET https://a.example\"]"
        );
        assert_eq!(
            sentence(&http, HintAudience::CommandLine),
            "to allow it, add --grant 'http=GET https://a.example'"
        );
        let two = GrantHint::new("", ["kv".into(), "config=it's=x".into()]);
        assert_eq!(
            sentence(&two, HintAudience::CommandLine),
            r"to allow it, add --grant kv --grant 'config=it'\''s=x'"
        );
        assert_eq!(
            sentence(&"sampling = true".into(), HintAudience::CommandLine),
            "to allow it, serve it with `plugport serve` and write under [plugins.p.grants]: sampling = true"
        );
    }
}
