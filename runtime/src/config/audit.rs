//! The `[audit]` table: where it is noted what plugins did.

use std::path::{Path, PathBuf};

use super::toml_reader::{TomlReader, TomlTable};

/// How the audit is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditConfig {
    /// Whether anything is noted.
    pub enabled: bool,
    /// Where, when the operator says it. Otherwise it is in the state folder.
    pub file: Option<PathBuf>,
    /// Size at which a file begins anew, MiB.
    pub mib: u64,
    /// Files that are kept beside the present one.
    pub kept: u64,
    /// Whether arguments are written down instead of their digest.
    pub arguments: bool,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self { enabled: true, file: None, mib: 64, kept: 4, arguments: false }
    }
}

const KEYS: &[&str] = &["enabled", "file", "mib", "kept", "arguments"];

impl AuditConfig {
    /// The name of the file in the state folder.
    pub const FILE: &'static str = "audit.jsonl";

    pub(super) fn read(mut from: TomlTable<'_>, base: &Path, reader: &mut TomlReader<'_>) -> Self {
        let mut audit = Self::default();
        let flag = |value: Option<bool>, usual| value.unwrap_or(usual);
        audit.enabled = flag(from.take("enabled").and_then(|entry| entry.boolean(reader)), true);
        audit.arguments = flag(from.take("arguments").and_then(|entry| entry.boolean(reader)), false);
        audit.file = from.take("file").and_then(|entry| entry.string(reader)).map(|file| base.join(file));
        for (key, most, slot) in [("mib", 65_536, &mut audit.mib), ("kept", 1_000, &mut audit.kept)] {
            if let Some(value) = from.take_number(key, 1, most, reader) {
                *slot = value;
            }
        }
        from.finish(reader, KEYS);
        audit
    }
}
