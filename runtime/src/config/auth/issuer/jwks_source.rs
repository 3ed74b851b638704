//! `jwks`: where the keys of an authorization server are.

use std::path::{Path, PathBuf};

use serde_json::Value;
use toml::de::DeValue;

use super::endpoint::Endpoint;
use crate::safe_open::{self, Symlinks};
use crate::toml_reader::{TomlEntry, TomlReader};

/// What `jwks` takes.
const FORM: &str =
    "must be \"discover\", \"none\", a URL that begins with https://, or { file = \"keys.json\" }";

/// Where the keys of an authorization server are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JwksSource {
    /// Where its metadata says.
    Discover,
    /// At a URL.
    Url(Endpoint),
    /// In a file.
    File(PathBuf),
    /// Nowhere: all its tokens are introspected.
    None,
}

impl JwksSource {
    /// Largest set of keys, bytes.
    pub(crate) const MAX_BYTES: u64 = 256 << 10;

    /// Reads `"discover"`, `"none"`, a URL, or `{ file = "keys.json" }`.
    pub(super) fn read(
        entry: TomlEntry<'_>,
        is_introspected: bool,
        base: &Path,
        reader: &mut TomlReader<'_>,
    ) -> Option<Self> {
        if matches!(entry.value, DeValue::Table(_)) {
            return Self::read_file(entry, base, reader);
        }
        let text = entry.string(reader)?;
        let why = match text.as_str() {
            "discover" => return Some(Self::Discover),
            "none" if is_introspected => return Some(Self::None),
            "none" => "needs `introspection`, since tokens cannot be verified without keys",
            url => match Endpoint::parse(url) {
                Ok(endpoint) => return Some(Self::Url(endpoint)),
                Err(_) => FORM,
            },
        };
        reader.report(entry.span.clone(), &entry.key, why);
        None
    }

    fn read_file(entry: TomlEntry<'_>, base: &Path, reader: &mut TomlReader<'_>) -> Option<Self> {
        let (path, span) = (entry.key.clone(), entry.span.clone());
        let mut table = entry.table(reader)?;
        let file = table.take("file").and_then(|entry| entry.string(reader)).map(|file| base.join(file));
        table.finish(reader, &["file"]);
        let Some(file) = file else {
            if !reader.has_diagnostics(&path) {
                reader.report(span, &path, "needs `file`, a file with a JSON Web Key Set");
            }
            return None;
        };
        if let Err(why) = check_jwks(&file) {
            reader.report(span, &path, format!("{} {why}", file.display()));
            return None;
        }
        Some(Self::File(file))
    }
}

/// Whether the file holds a set of keys. The server reads it again when it changes.
fn check_jwks(file: &Path) -> Result<(), String> {
    let bytes = safe_open::read(file, JwksSource::MAX_BYTES, Symlinks::Followed)
        .map_err(|error| error.to_string())?;
    let document: Option<Value> = serde_json::from_slice(&bytes).ok();
    let is_jwks = document.is_some_and(|document| document.get("keys").is_some_and(Value::is_array));
    if is_jwks { Ok(()) } else { Err("is no JSON Web Key Set, an object with `keys`".to_owned()) }
}
