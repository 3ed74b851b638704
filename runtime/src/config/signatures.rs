//! `trusted_keys`: whose signatures on plugins are trusted, and until when.
//!
//! A key is parsed here once, so that nothing about it can fail when a plugin is loaded. Each key has an id of its own,
//! which is also in every signature that it makes, so the id of a signature chooses the key.

use std::fmt;
use std::time::SystemTime;

use data_encoding::BASE64;
use minisign_verify::PublicKey;
use toml::de::DeValue;

use super::expiry_date::read_until;
use super::toml_reader::{TomlEntry, TomlReader};

/// The id of a key, which stands in the key's own text and in its signatures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyId([u8; 8]);

impl KeyId {
    /// The id in a line of a key or of a signature: in both it comes after two letters that name the algorithm.
    #[must_use]
    pub fn in_line(line: &str) -> Option<Self> {
        let bytes = BASE64.decode(line.as_bytes()).ok()?;
        bytes.get(2..10)?.try_into().ok().map(Self)
    }
}

/// As minisign shows it.
impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016X}", u64::from_le_bytes(self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A key whose signatures are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    /// Its id.
    pub id: KeyId,
    /// The key.
    pub key: PublicKey,
    /// When the key expires, with all signatures that it ever made: a thief of the key can write any date into them.
    pub until: Option<SystemTime>,
}

impl TrustedKey {
    /// Reads `"RW..."` or `{ key = "RW...", until = 2027-01-01 }`. `None`: it is neither, which is reported.
    fn read(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        if matches!(entry.value, DeValue::String(_)) {
            return Self::parse(&entry, reader);
        }
        let (path, span) = (entry.key.clone(), entry.span.clone());
        let mut table = entry.table(reader)?;
        let key = table.take("key");
        let until = table.take("until").and_then(|entry| read_until(&entry, reader));
        table.finish(reader, &["key", "until"]);
        if key.is_none() {
            reader.report(span, &path, "needs `key`, a public key of minisign");
        }
        Some(Self { until, ..Self::parse(&key?, reader)? })
    }

    fn parse(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        let text = entry.string(reader)?;
        let parsed = KeyId::in_line(&text).zip(PublicKey::from_base64(&text).ok());
        if parsed.is_none() {
            let why =
                "is no public key of minisign; write the second line of minisign.pub, which begins with RW";
            reader.report(entry.span.clone(), &entry.key, why);
        }
        let (id, key) = parsed?;
        Some(Self { id, key, until: None })
    }

    /// Whether its signatures are trusted at this time.
    #[must_use]
    pub fn is_valid_at(&self, now: SystemTime) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// The keys whose signatures are trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignatureKeys {
    keys: Vec<TrustedKey>,
}

impl SignatureKeys {
    pub(super) fn read(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Self {
        let mut trusted = Self::default();
        for item in entry.array(reader) {
            let (path, span) = (item.key.clone(), item.span.clone());
            let Some(key) = TrustedKey::read(item, reader) else { continue };
            if trusted.find(key.id).is_some() {
                reader.report(
                    span,
                    &path,
                    format!("has two keys with the id {}; remove one of them", key.id),
                );
            } else {
                trusted.keys.push(key);
            }
        }
        trusted
    }

    /// The key of this id.
    #[must_use]
    pub fn find(&self, id: KeyId) -> Option<&TrustedKey> {
        self.keys.iter().find(|key| key.id == id)
    }

    /// Whether no signatures are trusted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Reads `require_signature`. Without any key it is a mistake, since no plugin could be served.
    pub(super) fn read_required(&self, entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<bool> {
        let required = entry.boolean(reader)?;
        if required && self.is_empty() && !reader.has_diagnostics(PATH) {
            let why = "needs the keys whose signatures are trusted; name them in [server] `trusted_keys`";
            reader.report(entry.span.clone(), &entry.key, why);
        }
        Some(required)
    }
}

/// The setting that this module reads.
const PATH: &str = "server.trusted_keys";

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::super::{Config, ConfigError};
    use super::*;

    const KEY: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("plugport.toml"), "no-such-plugins".into())
    }

    #[test]
    fn a_key_has_the_id_that_minisign_shows() {
        let config = parse(&format!("[server]\ntrusted_keys = [{KEY:?}]\n")).unwrap();
        let id = KeyId::in_line(KEY).unwrap();
        assert_eq!(id.to_string(), "E7620F1842B4E81F");
        assert!(config.server.trusted_keys.find(id).unwrap().is_valid_at(SystemTime::now()));
    }

    #[test]
    fn a_key_holds_until_its_day_or_its_second() {
        for (until, seconds) in [
            ("1970-01-03", 172_800),
            ("1970-01-03T01:00:00Z", 176_400),
            ("1970-01-03T01:00:00+02:00", 169_200),
            ("1970-01-02T23:00:30.5-02:00", 176_430),
        ] {
            let text = format!("[server]\ntrusted_keys = [{{ key = {KEY:?}, until = {until} }}]\n");
            let config = parse(&text).unwrap();
            let key = config.server.trusted_keys.find(KeyId::in_line(KEY).unwrap()).unwrap();
            let end = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            assert!(
                key.is_valid_at(end - Duration::from_secs(1)) && !key.is_valid_at(end),
                "{until}: {key:?}"
            );
        }
    }

    #[test]
    fn a_plugin_may_need_a_signature_or_need_none() {
        let text = format!(
            "[server]\ntrusted_keys = [{KEY:?}]\nrequire_signature = true\n\
             [plugins.a]\nrequire_signature = false\n[plugins.b]\n"
        );
        let config = parse(&text).unwrap();
        let required = ["a", "b", "c"].map(|name| config.plugin(name).require_signature);
        assert_eq!(required, [false, true, true]);
        assert!(!Config::new("plugins".into()).plugin("a").require_signature);
    }

    #[test]
    fn mistakes_are_reported_with_line_and_key() {
        let text = format!(
            "[server]\ntrusted_keys = [\n\"RW\",\n5,\n{{ until = 2027-01-01 }},\n\
             {{ key = {KEY:?}, until = \"soon\" }},\n{KEY:?},\n{{ key = \"\", until = 10:00:00, from = 1 }},\n]\n"
        );
        let message = parse(&text).unwrap_err().to_string();
        for expected in [
            ":3: server.trusted_keys: is no public key of minisign",
            ":4: server.trusted_keys: expected a table",
            ":5: server.trusted_keys: needs `key`",
            ":6: server.trusted_keys.until: must be a date",
            ":7: server.trusted_keys: has two keys with the id E7620F1842B4E81F",
            ":8: server.trusted_keys.key: is no public key",
            ":8: server.trusted_keys.until: must be a date",
            ":8: server.trusted_keys.from: unknown key",
        ] {
            assert!(message.contains(expected), "{expected:?} is not in:\n{message}");
        }
    }

    #[test]
    fn a_signature_is_required_only_where_a_key_could_have_made_it() {
        for (text, at) in [
            ("[server]\nrequire_signature = true\n", ":2: server.require_signature: needs the keys"),
            ("[server]\ntrusted_keys = []\nrequire_signature = true\n", ":3: server.require_signature"),
            ("[plugins.a]\nrequire_signature = true\n", ":2: plugins.a.require_signature: needs the keys"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains("1 mistake in") && message.contains(at), "{message}");
        }
        let message =
            parse("[server]\ntrusted_keys = [\"x\"]\nrequire_signature = true\n").unwrap_err().to_string();
        assert!(message.contains("1 mistake in"), "the key is what is wrong:\n{message}");
    }
}
