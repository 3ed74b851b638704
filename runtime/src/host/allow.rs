//! What would allow something that a plugin was refused, in the words of whoever can allow it: a line of the configuration,
//! or what to add to a command that calls one tool.

use std::fmt;

use crate::observe::quoted;

/// Who reads what is noted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Whoever runs the server.
    #[default]
    Operator,
    /// Whoever called one tool, with `--grant`.
    Caller,
}

/// What would allow something. It may hold a guest's own words.
#[derive(Debug, Clone)]
pub(super) struct Allow {
    /// The line under the plugin's grants.
    pub(super) line: String,
    /// The same for `--grant`; none for what needs a client, or what it has no form for.
    grants: Vec<String>,
}

impl Allow {
    /// A line, and what `--grant` takes instead.
    pub(super) fn new(line: impl Into<String>, grants: impl IntoIterator<Item = String>) -> Self {
        Self { line: line.into(), grants: grants.into_iter().collect() }
    }

    /// Tells what to do to have it.
    pub(super) fn advise(&self, to: &str, plugin: &str, advice: Advice) -> String {
        let Self { line, grants } = self;
        match advice {
            Advice::Caller if grants.is_empty() => {
                format!(
                    "{to}, serve it with `plugport serve` and write under [plugins.{plugin}.grants]: {line}"
                )
            }
            Advice::Caller => format!("{to}, add {}", Flags(grants)),
            Advice::Operator => format!("{to}, write under [plugins.{plugin}.grants]: {line}"),
        }
    }
}

impl<T: AsRef<str>> From<T> for Allow {
    fn from(line: T) -> Self {
        Self::new(line.as_ref(), [])
    }
}

/// Options, as a shell takes them.
struct Flags<'a>(&'a [String]);

impl fmt::Display for Flags<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, grant) in self.0.iter().enumerate() {
            write!(f, "{}--grant {}", if at == 0 { "" } else { " " }, quoted(grant))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_can_allow_it_is_told_how() {
        let http = Allow::new("http = [\"GET https://a.example\"]", ["http=GET https://a.example".into()]);
        let told = |allow: &Allow, advice| allow.advise("to allow it", "p", advice);
        assert_eq!(
            told(&http, Advice::Operator),
            "to allow it, write under [plugins.p.grants]: http = [\"GET https://a.example\"]"
        );
        assert_eq!(told(&http, Advice::Caller), "to allow it, add --grant 'http=GET https://a.example'");
        let two = Allow::new("", ["kv".into(), "config=it's=x".into()]);
        assert_eq!(told(&two, Advice::Caller), r"to allow it, add --grant kv --grant 'config=it'\''s=x'");
        assert_eq!(
            told(&"sampling = true".into(), Advice::Caller),
            "to allow it, serve it with `plugport serve` and write under [plugins.p.grants]: sampling = true"
        );
    }
}
