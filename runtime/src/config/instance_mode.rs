//! `instances`: whether a plugin's calls have instances of their own.

use super::Grants;
use super::toml_reader::{TomlEntry, TomlReader};

/// What serves the calls of a plugin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InstanceMode {
    /// Each call has a fresh instance.
    #[default]
    Fresh,
    /// An instance may serve several calls of one caller, one after the other.
    Reuse,
}

impl InstanceMode {
    pub(super) fn read(entry: &TomlEntry<'_>, grants: &Grants, reader: &mut TomlReader<'_>) -> Option<Self> {
        let text = entry.string(reader)?;
        let instances = Self::parse(&text);
        let why = match instances {
            None => "must be \"fresh\" or \"reuse\"",
            Some(Self::Reuse) if grants.roots.may_read() => {
                "\"reuse\" does not go with the grant `roots` to read: an instance would still have the client's folders of an \
                 earlier call; take one of them away"
            }
            Some(_) => return instances,
        };
        reader.report(entry.span.clone(), &entry.key, why);
        None
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "fresh" => Some(Self::Fresh),
            "reuse" => Some(Self::Reuse),
            _ => None,
        }
    }

    /// As it is written in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Reuse => "reuse",
        }
    }

    /// What it costs, in one sentence, when it costs something.
    #[must_use]
    pub fn cost_note(self) -> Option<&'static str> {
        match self {
            Self::Fresh => None,
            Self::Reuse => Some(
                "keeps instances between calls (`instances = \"reuse\"`): it starts less often, and can remember what one \
                 caller told it for that caller's later calls",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_costs_something_has_a_price() {
        for instances in [InstanceMode::Fresh, InstanceMode::Reuse] {
            assert_eq!(InstanceMode::parse(instances.as_str()), Some(instances));
        }
        assert_eq!(InstanceMode::parse("pooled"), None);
        assert_eq!(InstanceMode::default().cost_note(), None);
        assert!(InstanceMode::Reuse.cost_note().is_some_and(|price| price.contains("can remember")));
    }
}
