//! Reading the files in a component ends, and what passes is within the bounds: paths that mean the same everywhere,
//! each once. Reading the frontmatter of a skill ends, and what passes is small, and a naive reader of its lines finds
//! each key with one value.

use plugport::catalog::fuzzing::frontmatter;
use plugport_common::shipped_files;
use serde_json::Value;

use crate::Target;
use crate::split_input::Fields;

/// The smallest component.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

pub(crate) const TARGET: Target = Target {
    name: "shipped_files",
    check,
    words: &[
        "\x1f",
        "\0\x0eplugport:files\x01",
        "\0\x1a\x0eplugport:files\x01\x09ui/a.html",
        "skills/a/SKILL.md",
        "../",
        "---\n",
        "name: a\n",
        "description: >-\n  ",
        "metadata:\n  ",
        "- ",
        "[a, b]",
        "\"",
        "'",
        "&a ",
        "*a",
        "!!",
        ": ",
        " #",
        "|",
        "\r\n",
    ],
};

/// Sections of a component, and a `SKILL.md`.
fn check(input: &[u8]) {
    let mut fields = Fields::new(input);
    let sections = fields.text();
    sections_are_bounded(&[COMPONENT, sections.as_bytes()].concat());
    sections_are_bounded(&[COMPONENT, input].concat());
    let text = fields.text();
    frontmatter_is_bounded(&text);
    frontmatter_is_bounded(&format!("---\n{text}\n---\n"));
}

fn sections_are_bounded(component: &[u8]) {
    let Ok(files) = shipped_files(component) else { return };
    let mut seen = std::collections::BTreeSet::new();
    let total: usize = files.iter().map(|file| file.contents.len()).sum();
    assert!(files.len() <= 512 && total <= component.len().min(16 << 20));
    for file in files {
        let parts: Vec<&str> = file.path.split('/').collect();
        assert!(matches!(parts[0], "skills" | "ui") && parts.len() > 1, "{}", file.path);
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        assert!(
            parts.iter().all(|part| !part.is_empty() && !part.starts_with('.') && part.chars().all(plain))
        );
        assert!(seen.insert(file.path.to_lowercase()), "{} is there twice", file.path);
    }
}

fn frontmatter_is_bounded(text: &str) {
    let Ok(fields) = frontmatter(text) else { return };
    let (mut values, mut bytes) = (0, 0);
    measure(&Value::Object(fields.clone()), 0, &mut values, &mut bytes);
    assert!(values <= 64 && bytes <= text.len(), "{values} values, {bytes} bytes");
    // A key stands at the beginning of one line, and no other line begins like it.
    for key in fields.keys() {
        let begins = |line: &&str| line.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with(':'));
        let lines = text.lines().skip(1).take_while(|line| *line != "---");
        assert_eq!(lines.filter(begins).count(), 1, "{key}");
    }
}

/// Counts keys and items, and the bytes of texts.
fn measure(value: &Value, depth: usize, values: &mut usize, bytes: &mut usize) {
    assert!(depth <= 4, "nested too deeply");
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            *values += 1;
            *bytes += key.len();
            measure(value, depth + 1, values, bytes);
        }),
        Value::Array(items) => items.iter().for_each(|item| {
            *values += 1;
            measure(item, depth + 1, values, bytes);
        }),
        Value::String(text) => {
            assert!(!text.chars().any(|c| c != '\n' && plugport_common::is_deceptive(c)), "{text:?}");
            *bytes += text.len();
        }
        _ => {}
    }
}
