//! `[server.tls]`: the files of HTTPS, and whether clients show certificates.
//!
//! Only paths are read here. What is in the files is read by the listener, at the start and whenever they change: a
//! renewed certificate needs no change of the configuration, and a command of a user who may not read the key still
//! reads the configuration.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::toml_reader::{TomlEntry, TomlReader, TomlTable};

/// Where the certificates of HTTPS are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsConfig {
    /// The server's certificate and those between it and its authority, in PEM.
    pub cert: PathBuf,
    /// The private key of the server's certificate, in PEM.
    pub key: PathBuf,
    /// The authorities that issue certificates to clients, in PEM; `None`: clients are not asked for one.
    pub client_ca: Option<PathBuf>,
    /// Whether a client without a certificate is rejected.
    pub require_client: bool,
}

const KEYS: &[&str] = &["cert", "key", "client_ca", "client_certificates"];

impl TlsConfig {
    /// Reads the table. Its paths are relative to `base`.
    pub(super) fn read(entry: TomlEntry<'_>, base: &Path, reader: &mut TomlReader<'_>) -> Option<Self> {
        let (path, span) = (entry.key.clone(), entry.span.clone());
        let mut table = entry.table(reader)?;
        let cert = take_file(&mut table, "cert", base, reader);
        let key = take_file(&mut table, "key", base, reader);
        let client_ca = take_file(&mut table, "client_ca", base, reader);
        let required = table
            .take("client_certificates")
            .and_then(|entry| read_required(&entry, client_ca.is_some(), &path, reader));
        table.finish(reader, KEYS);
        if (cert.is_none() || key.is_none()) && !reader.has_diagnostics(&path) {
            let why = "needs `cert` and `key`, the files of the server's certificate and of its private key";
            reader.report(span, &path, why);
        }
        Some(Self { cert: cert?, key: key?, client_ca, require_client: required.unwrap_or_default() })
    }

    /// A warning when other users of the machine can read the private key.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let mode = std::fs::metadata(&self.key).ok()?.mode();
        (mode & 0o044 != 0).then(|| {
            let key = self.key.display();
            format!(
                "{key}, the private key of [server.tls], can be read by other users; change its mode to 0600"
            )
        })
    }
}

/// Takes the path of a file. A file that is not there is reported.
fn take_file(
    table: &mut TomlTable<'_>,
    key: &str,
    base: &Path,
    reader: &mut TomlReader<'_>,
) -> Option<PathBuf> {
    let entry = table.take(key)?;
    let path = base.join(entry.string(reader)?);
    let why = match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_file() => return Some(path),
        Ok(_) => "is not a regular file; name a file in PEM",
        Err(error) if error.kind() == ErrorKind::NotFound => "is not there; check the path",
        // The listener finds out whether the server may read the file.
        Err(_) => return Some(path),
    };
    reader.report(entry.span, &entry.key, format!("{} {why}", path.display()));
    Some(path)
}

/// Reads `client_certificates`: whether a client must have one.
fn read_required(
    entry: &TomlEntry<'_>,
    has_authorities: bool,
    table: &str,
    reader: &mut TomlReader<'_>,
) -> Option<bool> {
    let required = match entry.string(reader)?.as_str() {
        "ask" => false,
        "require" => true,
        _ => {
            reader.report(entry.span.clone(), &entry.key, "must be \"ask\" or \"require\"");
            return None;
        }
    };
    if !has_authorities && !reader.has_diagnostics(&format!("{table}.client_ca")) {
        let why = "needs `client_ca`, the file of the authorities whose certificates clients may show";
        reader.report(entry.span.clone(), &entry.key, why);
    }
    Some(required)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::{Config, ConfigError};
    use super::*;

    /// A folder with the files `c.pem`, `k.pem` and `ca.pem`.
    fn folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for name in ["c.pem", "k.pem", "ca.pem"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        dir
    }

    fn read(dir: &Path, text: &str) -> Result<Config, ConfigError> {
        let file = dir.join("plugport.toml");
        fs::write(&file, text).unwrap();
        Config::read(&file, dir.join("plugins"))
    }

    #[test]
    fn files_lie_beside_the_configuration() {
        let dir = folder();
        let text = "[server.tls]\ncert = \"c.pem\"\nkey = \"k.pem\"\n";
        let tls = read(dir.path(), text).unwrap().server.tls.unwrap();
        assert_eq!((tls.cert, tls.key), (dir.path().join("c.pem"), dir.path().join("k.pem")));
        assert_eq!((tls.client_ca, tls.require_client), (None, false));
        assert_eq!(read(dir.path(), "[server]\n").unwrap().server.tls, None);
    }

    #[test]
    fn a_certificate_of_the_client_is_asked_for_or_required() {
        let dir = folder();
        for (line, required) in [
            ("", false),
            ("client_certificates = \"ask\"\n", false),
            ("client_certificates = \"require\"\n", true),
        ] {
            let text =
                format!("[server.tls]\ncert = \"c.pem\"\nkey = \"k.pem\"\nclient_ca = \"ca.pem\"\n{line}");
            let tls = read(dir.path(), &text).unwrap().server.tls.unwrap();
            assert_eq!((tls.client_ca, tls.require_client), (Some(dir.path().join("ca.pem")), required));
        }
    }

    #[test]
    fn mistakes_are_reported_with_line_and_key() {
        let dir = folder();
        for (text, expected) in [
            ("[server.tls]\ncert = \"c.pem\"\n", ":1: server.tls: needs `cert` and `key`"),
            ("[server.tls]\ncert = \"no.pem\"\nkey = \"k.pem\"\n", ":2: server.tls.cert:"),
            ("[server.tls]\ncert = \"c.pem\"\nkey = \".\"\n", "is not a regular file"),
            (
                "[server.tls]\ncert = \"c.pem\"\nkey = \"k.pem\"\nclient_certificates = \"ask\"\n",
                ":4: server.tls.client_certificates: needs `client_ca`",
            ),
            (
                "[server.tls]\ncert = \"c.pem\"\nkey = \"k.pem\"\nclient_ca = \"ca.pem\"\n\
                 client_certificates = true\n",
                ":5: server.tls.client_certificates: expected a string",
            ),
            (
                "[server.tls]\ncert = \"c.pem\"\nkey = \"k.pem\"\nclient_ca = \"ca.pem\"\n\
                 client_certificates = \"no\"\n",
                ":5: server.tls.client_certificates: must be \"ask\" or \"require\"",
            ),
            ("[server.tls]\ncrt = \"c.pem\"\nkey = \"k.pem\"\n", "did you mean `cert`?"),
            ("[server]\ntls = true\n", ":2: server.tls: expected a table"),
        ] {
            let message = read(dir.path(), text).unwrap_err().to_string();
            assert!(message.contains("1 mistake in") && message.contains(expected), "{expected}:\n{message}");
        }
    }

    #[test]
    fn a_key_that_others_can_read_is_warned_about() {
        let dir = folder();
        let text = "[server.tls]\ncert = \"c.pem\"\nkey = \"k.pem\"\n";
        for (mode, is_warned_about) in [(0o600, false), (0o640, true), (0o604, true)] {
            fs::set_permissions(dir.path().join("k.pem"), Permissions::from_mode(mode)).unwrap();
            let warnings = read(dir.path(), text).unwrap().warnings();
            assert_eq!(
                warnings.iter().any(|warning| warning.contains("k.pem")),
                is_warned_about,
                "{mode:o}: {warnings:?}"
            );
        }
    }
}
