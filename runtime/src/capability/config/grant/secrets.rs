//! `secrets`: values by reference, so that the configuration can be shown and shared.
//! `{ token = { env = "FETCH_TOKEN" } }` or `{ token = { file = "./token.txt" } }`; on the command line
//! `secret=NAME=env:VARIABLE` or `secret=NAME=file:PATH`.
//!
//! A value is read once, at start, so the operator learns of a missing secret before any client does. It has a type of
//! its own that cannot be printed, is wiped from memory when it is dropped, and leaves this file only for the guest
//! that reads it and for the redactor.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::de::DeValue;
use zeroize::Zeroizing;

use super::values::{ConfigValues, MAX_KEY};
use crate::capability::grant_trait::GrantContext;
use crate::observe::Redactor;
use crate::safe_open::{self, OpenError, Symlinks};
use crate::toml_reader::{TomlEntry, TomlReader};

/// Most secrets of one plugin.
const MAX_SECRETS: usize = 32;

/// Longest value, bytes: enough for a certificate with its chain.
const MAX_VALUE: u64 = 16 << 10;

/// What `secrets` takes.
const FORM: &str = "it needs either `env`, a variable of the server, or `file`, a path";

/// What `--grant secret=` takes.
const SHORT_FORM: &str = "write secret=NAME=env:VARIABLE or secret=NAME=file:PATH";

/// The secrets of one plugin, by the name under which it reads them. Clones share the values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    by_name: BTreeMap<String, Secret>,
    redactor: Redactor,
}

/// One secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    value: Arc<Zeroizing<String>>,
    source: SecretSource,
    world_readable: bool,
}

/// Where a secret comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SecretSource {
    Variable(String),
    File(PathBuf),
}

impl Secrets {
    /// The secret of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.by_name.get(name)
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.by_name.iter().map(|(name, secret)| (name.as_str(), secret))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The redactor of their values.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Reads the table `secrets`.
    pub(super) fn read(
        &mut self,
        entry: TomlEntry<'_>,
        values: &ConfigValues,
        context: GrantContext<'_>,
        reader: &mut TomlReader<'_>,
    ) {
        let Some(mut table) = entry.table(reader) else { return };
        for (name, entry) in table.take_all() {
            let (key, span) = (entry.key.clone(), entry.span.clone());
            let Some(source) = SecretSource::read(entry, context.base, reader) else { continue };
            if let Err(why) = self.add(&name, source, values) {
                reader.report(span, &key, why);
            }
        }
    }

    /// The same from the command line.
    pub(super) fn parse(
        &mut self,
        text: &str,
        values: &ConfigValues,
        context: GrantContext<'_>,
    ) -> Result<(), String> {
        let (name, source) = text.split_once('=').ok_or(SHORT_FORM)?;
        let source = match source.split_once(':') {
            Some(("env", variable)) => SecretSource::Variable(variable.to_owned()),
            Some(("file", path)) => SecretSource::File(context.base.join(path)),
            _ => return Err(SHORT_FORM.to_owned()),
        };
        self.add(name, source, values)
    }

    fn add(&mut self, name: &str, source: SecretSource, values: &ConfigValues) -> Result<(), String> {
        if name.is_empty() || name.len() > MAX_KEY {
            return Err(format!("a secret's name must have 1 to {MAX_KEY} bytes"));
        }
        if values.contains_key(name) || self.by_name.contains_key(name) {
            return Err(format!(
                "`{name}` is there twice; a plugin asks for both kinds by name, so remove one"
            ));
        }
        if self.by_name.len() >= MAX_SECRETS {
            return Err(format!("a plugin may have at most {MAX_SECRETS} secrets"));
        }
        self.by_name.insert(name.to_owned(), Secret::load(source)?);
        self.redactor = Redactor::new(self.by_name.values().map(Secret::expose_secret));
        Ok(())
    }
}

impl SecretSource {
    /// Reads `{ env = "VARIABLE" }` or `{ file = "PATH" }`. `None`: it is neither, which is reported.
    fn read(entry: TomlEntry<'_>, base: &Path, reader: &mut TomlReader<'_>) -> Option<Self> {
        let (key, span) = (entry.key.clone(), entry.span.clone());
        if matches!(entry.value, DeValue::String(_)) {
            let why = format!("say where the secret is, and keep it out of this file: {FORM}");
            reader.report(span, &key, why);
            return None;
        }
        let mut table = entry.table(reader)?;
        let variable = table.take("env").and_then(|entry| entry.string(reader));
        let file = table.take("file").and_then(|entry| entry.string(reader));
        table.finish(reader, &["env", "file"]);
        match (variable, file) {
            (Some(variable), None) => Some(Self::Variable(variable)),
            (None, Some(file)) => Some(Self::File(base.join(file))),
            _ => {
                reader.report(span, &key, FORM);
                None
            }
        }
    }
}

impl Secret {
    /// Reads a secret of the server itself. `None`: it has no usable value, which is reported.
    pub(crate) fn read(entry: TomlEntry<'_>, base: &Path, reader: &mut TomlReader<'_>) -> Option<Self> {
        let (key, span) = (entry.key.clone(), entry.span.clone());
        let loaded = Self::load(SecretSource::read(entry, base, reader)?);
        loaded.map_err(|why| reader.report(span, &key, why)).ok()
    }

    fn load(source: SecretSource) -> Result<Self, String> {
        let (value, world_readable) = match &source {
            SecretSource::Variable(name) => (from_environment(name)?, false),
            SecretSource::File(path) => from_file(path)?,
        };
        if Redactor::new([value.as_str()]).is_empty() {
            return Err(format!("{source} is empty or too short to be a secret: give it 4 bytes or more"));
        }
        Ok(Self { value: Arc::new(value), source, world_readable })
    }

    /// The value, for the guest that it is granted to or the server that it belongs to, and for nobody else.
    #[must_use]
    pub fn expose_secret(&self) -> &str {
        &self.value
    }

    /// Where it comes from, in words.
    #[must_use]
    pub fn source(&self) -> String {
        self.source.to_string()
    }

    /// The file that it comes from, if it comes from one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match &self.source {
            SecretSource::Variable(_) => None,
            SecretSource::File(path) => Some(path),
        }
    }

    /// Whether every user of the machine can read the file that it comes from.
    #[must_use]
    pub fn is_world_readable(&self) -> bool {
        self.world_readable
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret(*** from {})", self.source)
    }
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "the variable {name}"),
            Self::File(path) => write!(f, "the file {}", path.display()),
        }
    }
}

fn from_environment(name: &str) -> Result<Zeroizing<String>, String> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(format!("`{name}` is no name of a variable"));
    }
    let value = std::env::var_os(name).ok_or_else(|| {
        format!("the server's environment has no variable `{name}`; set it before the start")
    })?;
    let value =
        value.into_string().map_err(|_| format!("the variable `{name}` is not text; set it again"))?;
    trimmed(Zeroizing::new(value), || format!("the variable `{name}`"))
}

/// The value, and whether others can read the file.
fn from_file(path: &Path) -> Result<(Zeroizing<String>, bool), String> {
    let shown = path.display();
    let unreadable =
        |error: std::io::Error| format!("cannot read the file {shown}: {error}; check its path and mode");
    let (file, metadata) = safe_open::open(path, Symlinks::Followed).map_err(|error| match error {
        OpenError::Unreadable(error) => unreadable(error),
        _ => format!("{shown} is not a regular file; name the file that holds the secret"),
    })?;
    // With its full capacity from the start, so that growing leaves no copy behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_VALUE as usize + 8));
    file.take(MAX_VALUE + 3).read_to_end(&mut bytes).map_err(unreadable)?;
    let value = std::str::from_utf8(&bytes).map_err(|_| format!("the file {shown} is not text in UTF-8"))?;
    let value = trimmed(Zeroizing::new(value.to_owned()), || format!("the file {shown}"))?;
    Ok((value, metadata.mode() & 0o004 != 0))
}

/// Without the end of line that editors and `echo` leave.
fn trimmed(mut value: Zeroizing<String>, what: impl Fn() -> String) -> Result<Zeroizing<String>, String> {
    let length =
        value.strip_suffix('\n').map_or(value.len(), |text| text.strip_suffix('\r').unwrap_or(text).len());
    value.truncate(length);
    if value.len() as u64 > MAX_VALUE {
        return Err(format!(
            "{} is longer than {} KiB, the most that a secret may have",
            what(),
            MAX_VALUE >> 10
        ));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::grant_trait::ProtectedPaths;

    fn parse(secrets: &mut Secrets, base: &Path, text: &str) -> Result<(), String> {
        let values = ConfigValues::from([("region".to_owned(), "eu".to_owned())]);
        secrets.parse(text, &values, GrantContext { base, protected: &ProtectedPaths::default() })
    }

    #[test]
    fn a_file_is_read_at_start_and_its_value_is_never_shown() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("token"), "canary-secret\r\n").unwrap();
        let mut secrets = Secrets::default();
        parse(&mut secrets, dir.path(), "token=file:token").unwrap();
        let secret = secrets.get("token").unwrap();
        assert_eq!(secret.expose_secret(), "canary-secret");
        assert!(secret.is_world_readable() && secret.source().contains("token"));
        assert!(!format!("{secrets:?}").contains("canary"), "{secrets:?}");
        assert_eq!(secrets.redactor().text("is canary-secret"), "is ***");
        assert!(parse(&mut secrets, dir.path(), "token=file:token").unwrap_err().contains("twice"));
        assert!(parse(&mut secrets, dir.path(), "region=file:token").unwrap_err().contains("twice"));
    }

    #[test]
    fn what_cannot_be_a_secret_is_rejected_with_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in [
            ("empty", &b"\n"[..]),
            ("short", b"abc"),
            ("binary", b"\xff\xfe\xfd\xfc"),
            ("long", &[b'x'; 16_385]),
        ] {
            std::fs::write(dir.path().join(name), bytes).unwrap();
        }
        let mut secrets = Secrets::default();
        for (text, reason) in [
            ("a=file:empty", "too short"),
            ("a=file:short", "too short"),
            ("a=file:binary", "not text"),
            ("a=file:long", "longer than 16 KiB"),
            ("a=file:none", "cannot read the file"),
            ("a=file:.", "not a regular file"),
            ("a=file:/dev/zero", "not a regular file"),
            ("a=env:PLUGPORT_NO_SUCH_VARIABLE", "has no variable `PLUGPORT_NO_SUCH_VARIABLE`"),
            ("a=env:", "no name of a variable"),
            ("a=value", "write secret=NAME="),
            ("a", "write secret=NAME="),
            ("=file:short", "name must have"),
        ] {
            let error = parse(&mut secrets, dir.path(), text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(secrets.is_empty());
        parse(&mut secrets, dir.path(), "path=env:PATH").unwrap();
        assert!(!secrets.get("path").unwrap().is_world_readable());
    }
}
