//! Reading any `plugport.toml` ends: in a configuration whose limits all keep the table of
//! docs/limits.md, or in mistakes that each name a line of the file. A limit that was not written has its default.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use plugport::config::{Config, ConfigError, Limits};

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "configuration",
    check,
    words: &[
        "[server]\n",
        "[limits]\n",
        "[plugins.a]\n",
        "[plugins.a.limits]\n",
        "[plugins.a.grants]\n",
        "[[",
        "]]",
        "listen = ",
        "\"127.0.0.1:0\"",
        "state_dir = \"s\"",
        "allowed_hosts = [",
        "page_size = ",
        "message_kib = ",
        "ping_interval_s = ",
        "prefix = \"\"",
        "fuel = ",
        "cpu_ms = ",
        "wall_ms = ",
        "memory_mib = ",
        "wasm_mib = ",
        "dirs = [",
        "\"./data\"",
        "host = ",
        "guest = ",
        "write = true",
        "kv = true",
        "kv = { quota_mib = ",
        ", per = \"caller\"",
        "http = [",
        "\"https://a.test\"",
        "sampling = true",
        "true",
        "0x10",
        "0o7",
        "1_000",
        "-1",
        "1e3",
        "1979-05-27",
        "'''",
        "\"\"\"",
        "\\u0000",
        "\\U0010ffff",
        "# ",
        "=",
        "{",
        "}",
        "18446744073709551616",
        "\u{feff}",
        "\r\n",
    ],
};

static FOLDER: LazyLock<(PathBuf, tempfile::TempDir)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("data")).unwrap();
    (folder.path().join("plugport.toml"), folder)
});

/// The text of the file.
fn check(input: &[u8]) {
    let (file, folder) = &*FOLDER;
    // Not emptied first: some file systems then wait for the disk.
    let mut opened = File::options().write(true).create(true).truncate(false).open(file).unwrap();
    opened.write_all(input).unwrap();
    opened.set_len(input.len() as u64).unwrap();
    match Config::read(file, folder.path().join("plugins")) {
        Ok(config) => {
            let text = std::str::from_utf8(input).unwrap();
            assert_limits(&config.limits, text);
            config.plugins.values().for_each(|plugin| assert_limits(&plugin.limits, text));
        }
        Err(ConfigError::Invalid { diagnostics, .. }) => {
            let lines = input.iter().filter(|byte| **byte == b'\n').count() + 1;
            assert!(!diagnostics.is_empty());
            for diagnostic in diagnostics {
                assert!(
                    (1..=lines).contains(&diagnostic.line),
                    "line {} of {lines}: {diagnostic:?}",
                    diagnostic.line
                );
                assert!(!diagnostic.message.is_empty());
            }
        }
        Err(_) => assert!(std::str::from_utf8(input).is_err(), "the file can be read"),
    }
}

fn assert_limits(limits: &Limits, text: &str) {
    if *limits == Limits::default() {
        return;
    }
    let shown = format!("{limits:?}");
    let shown = shown.trim_start_matches("Limits { ").trim_end_matches(" }");
    for (spec, pair) in Limits::TABLE.iter().zip(shown.split(", ")) {
        let value: u64 =
            pair.strip_prefix(spec.name).and_then(|pair| pair.strip_prefix(": ")).unwrap().parse().unwrap();
        assert!((1..=spec.max).contains(&value), "{} is {value}", spec.name);
        // A name may be written with escapes.
        let written = text.contains(spec.name) || text.contains('\\');
        assert!(written || value == spec.default, "{} is {value} by nobody's word", spec.name);
    }
}
