//! The `[audit]` table: where the audit is written, and how much of it is kept.

use std::path::{Path, PathBuf};

use super::toml_reader::{TomlReader, TomlTable};

/// How the audit is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditConfig {
    /// Whether there is an audit.
    pub enabled: bool,
    /// Its file, when the operator names one; otherwise it is in the state folder.
    pub file: Option<PathBuf>,
    /// Size at which the file is rotated, MiB.
    pub max_mib: u64,
    /// Rotated files that are kept.
    pub rotated_files: u64,
    /// Whether arguments are written instead of their digest.
    pub arguments: bool,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self { enabled: true, file: None, max_mib: 64, rotated_files: 4, arguments: false }
    }
}

const KEYS: &[&str] = &["enabled", "file", "max_mib", "rotated_files", "arguments"];

impl AuditConfig {
    /// The name of the file in the state folder.
    pub const FILE: &'static str = "audit.jsonl";

    pub(super) fn read(mut from: TomlTable<'_>, base: &Path, reader: &mut TomlReader<'_>) -> Self {
        let mut audit = Self {
            enabled: from.take("enabled").and_then(|entry| entry.boolean(reader)).unwrap_or(true),
            arguments: from.take("arguments").and_then(|entry| entry.boolean(reader)).unwrap_or(false),
            file: from.take("file").and_then(|entry| entry.string(reader)).map(|file| base.join(file)),
            ..Self::default()
        };
        for (key, max, field) in
            [("max_mib", 65_536, &mut audit.max_mib), ("rotated_files", 1_000, &mut audit.rotated_files)]
        {
            if let Some(value) = from.take_number(key, 1, max, reader) {
                *field = value;
            }
        }
        from.finish(reader, KEYS);
        audit
    }
}
