//! The grant `ui`: which domains an app may reach in the client's host, and which permissions of a browser it may use.
//! `{ connect = ["https://api.example.com"], permissions = ["camera"] }`. No command shows an app, so there is no `--grant`.
//!
//! The client's host enforces it; the server publishes only apps that ask for no more. A domain is granted by the same
//! text: the operator reads what the host will put into its Content Security Policy.

use std::collections::BTreeSet;
use std::path::Path;

use crate::capability::grant_trait::{Grant, GrantContext, GrantError, GrantOption, GrantSentence, Import};
use crate::toml_reader::{TomlEntry, TomlReader};

/// Maximum number of domains and permissions.
pub(super) const MAX_ENTRIES: usize = 64;

/// Longest domain in bytes.
const MAX_DOMAIN: usize = 200;

/// Schemes of domains.
const SCHEMES: [&str; 4] = ["https://", "wss://", "http://", "ws://"];

/// The permissions that MCP has for apps.
const PERMISSIONS: [&str; 4] = ["camera", "clipboardWrite", "geolocation", "microphone"];

/// What an app does with a domain, or that it uses a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UiReach {
    /// Requests and sockets.
    Connect,
    /// Scripts, styles, fonts, images and media.
    Resource,
    /// Pages inside it.
    Frame,
    /// The base of its links.
    BaseUri,
    /// A permission of the browser.
    Permission,
}

/// Everything that the apps of one plugin may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Granted(pub BTreeSet<(UiReach, String)>);

impl UiReach {
    /// All of them, each with its key and the words for it.
    const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Connect, "connect", "connects to"),
        (Self::Resource, "resource", "loads from"),
        (Self::Frame, "frame", "shows pages of"),
        (Self::BaseUri, "base_uri", "has links relative to"),
        (Self::Permission, "permissions", "uses"),
    ];

    /// Checks a domain or the name of a permission.
    ///
    /// # Errors
    /// When it is not one, with what to write.
    pub fn check(self, text: &str) -> Result<(), &'static str> {
        if self == Self::Permission {
            let known = PERMISSIONS.contains(&text);
            return known.then_some(()).ok_or("write camera, clipboardWrite, geolocation or microphone");
        }
        let rest = SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme));
        let host = rest.map(|rest| rest.strip_prefix("*.").unwrap_or(rest));
        let valid = host.is_some_and(is_authority) && text.len() <= MAX_DOMAIN;
        valid
            .then_some(())
            .ok_or("write a scheme and a host, such as https://api.example.com or https://*.example.com")
    }
}

/// Whether a text is a host, in small letters, with a port or without. It has no character that ends a source in a
/// Content Security Policy.
fn is_authority(text: &str) -> bool {
    let (host, port) = text.split_once(':').unwrap_or((text, "443"));
    let label = |label: &str| {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(allowed)
    };
    host.split('.').all(label)
        && port.parse::<u16>().is_ok_and(|number| number > 0 && number.to_string() == port)
}

impl Granted {
    /// What is in this one and not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).cloned().collect())
    }

    /// What is in one of both.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).cloned().collect())
    }

    /// What an app does with it, one part of a sentence for each kind.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        let kinds = UiReach::ALL.into_iter().map(|(reach, _, words)| (words, self.of(reach)));
        let told = kinds.filter(|(_, texts)| !texts.is_empty());
        told.map(|(words, texts)| format!("{words} {}", texts.join(", "))).collect()
    }

    /// The line of the configuration that grants it.
    #[must_use]
    pub fn line(&self) -> String {
        let keys = UiReach::ALL.into_iter().map(|(reach, key, _)| (key, self.of(reach)));
        let keys = keys.filter(|(_, texts)| !texts.is_empty());
        let keys: Vec<String> = keys.map(|(key, texts)| format!("{key} = {texts:?}")).collect();
        format!("ui = {{ {} }}", keys.join(", "))
    }

    fn of(&self, wanted: UiReach) -> Vec<&str> {
        self.0.iter().filter(|(reach, _)| *reach == wanted).map(|(_, text)| text.as_str()).collect()
    }

    fn insert(&mut self, reach: UiReach, text: String) -> Result<(), String> {
        reach.check(&text).map_err(|why| format!("`{text}` cannot be granted; {why}"))?;
        if self.0.len() >= MAX_ENTRIES {
            return Err(format!("a plugin may have at most {MAX_ENTRIES} domains and permissions of apps"));
        }
        self.0.insert((reach, text));
        Ok(())
    }
}

impl Grant for Granted {
    const KEYS: &'static [&'static str] = &["ui"];
    const FORMS: &'static [&'static str] = &[];
    const IMPORTS: &'static [Import] = &[];

    fn read(&mut self, _: &str, entry: TomlEntry<'_>, _: GrantContext<'_>, reader: &mut TomlReader<'_>) {
        let Some(mut table) = entry.table(reader) else { return };
        for (reach, key, _) in UiReach::ALL {
            let Some(entry) = table.take(key) else { continue };
            for entry in entry.array(reader) {
                let Some(text) = entry.string(reader) else { continue };
                if let Err(why) = self.insert(reach, text) {
                    reader.report(entry.span, &entry.key, why);
                }
            }
        }
        table.finish(reader, &UiReach::ALL.map(|(_, key, _)| key));
    }

    fn add(&mut self, option: GrantOption<'_>, _: GrantContext<'_>) -> Result<(), GrantError> {
        Err(option.error("what apps reach is granted in plugport.toml; no command shows an app"))
    }

    fn describe(&self, _: &dyn Fn(&Path) -> String, sentences: &mut Vec<GrantSentence>) {
        sentences
            .extend(self.in_words().into_iter().map(|words| ("ui", format!("ship an app that {words}"))));
    }

    fn is_subset_of(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_a_scheme_and_a_host() {
        for good in ["https://a.test", "wss://*.a.test", "http://127.0.0.1:8080", "https://localhost"] {
            assert_eq!(UiReach::Connect.check(good), Ok(()), "{good}");
        }
        for bad in [
            "a.test",
            "*",
            "https://*",
            "https://",
            "https://A.test",
            "https://a.test/",
            "https://a..test",
            "data:",
            "https://a.test:0",
            "https://a.test:08",
            "https://a.test;",
            "https://a test",
            "https://a.*.test",
            "ftp://a.test",
        ] {
            assert!(UiReach::Resource.check(bad).is_err(), "{bad}");
        }
        assert!(UiReach::Permission.check("camera").is_ok() && UiReach::Permission.check("usb").is_err());
    }

    #[test]
    fn a_grant_is_told_as_it_is_written() {
        let mut granted = Granted::default();
        granted.insert(UiReach::Permission, "camera".to_owned()).unwrap();
        for domain in ["https://b.test", "https://a.test"] {
            granted.insert(UiReach::Connect, domain.to_owned()).unwrap();
        }
        assert_eq!(granted.in_words(), ["connects to https://a.test, https://b.test", "uses camera"]);
        let line = r#"ui = { connect = ["https://a.test", "https://b.test"], permissions = ["camera"] }"#;
        assert_eq!(granted.line(), line);
        assert!(
            Grant::is_subset_of(&Granted::default(), &granted) && !granted.is_subset_of(&Granted::default())
        );
        for n in 0..MAX_ENTRIES - 3 {
            granted.insert(UiReach::Frame, format!("https://{n}.test")).unwrap();
        }
        assert!(granted.insert(UiReach::Frame, "https://x.test".to_owned()).is_err());
    }
}
