//! `instances`: whether a plugin's calls have instances of their own.

use super::Grants;
use super::reader::{Entry, Reader};

/// What serves the calls of a plugin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Instances {
    /// Each call has a fresh instance.
    #[default]
    Fresh,
    /// An instance may serve several calls of one caller, one after the other.
    Reuse,
}

impl Instances {
    pub(super) fn read(entry: &Entry<'_>, grants: &Grants, reader: &mut Reader<'_>) -> Option<Self> {
        let text = entry.string(reader)?;
        let instances = Self::parse(&text);
        let why = match instances {
            None => "must be \"fresh\" or \"reuse\"",
            Some(Self::Reuse) if grants.read_roots.is_some() => {
                "\"reuse\" does not go with the grant `roots` to read: an instance would still have the client's folders of an \
                 earlier call; take one of them away"
            }
            Some(_) => return instances,
        };
        reader.fault(entry.span.clone(), &entry.key, why);
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
    pub fn price(self) -> Option<&'static str> {
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
        for instances in [Instances::Fresh, Instances::Reuse] {
            assert_eq!(Instances::parse(instances.as_str()), Some(instances));
        }
        assert_eq!(Instances::parse("pooled"), None);
        assert_eq!(Instances::default().price(), None);
        assert!(Instances::Reuse.price().is_some_and(|price| price.contains("can remember")));
    }
}
