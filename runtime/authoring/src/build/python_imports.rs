//! Which of the host's interfaces a project in Python uses, by the `import` statements of its sources.
//!
//! Python knows what it imports when it runs, and that needs the component's world. So the statements are read here.
//! What a library imports, or code without such a statement, has to be named in `pyproject.toml`.

use std::path::Path;

use crate::project::host_world::HostWorld;
use crate::project::python_sources::sources;

/// Modules, and what importing one needs.
const MODULES: [(&str, HostWorld); 5] = [
    ("plugport_sdk.http", HostWorld::Http),
    ("urllib.request", HostWorld::Http),
    ("plugport_sdk.kv", HostWorld::Keyvalue),
    ("plugport_sdk.config", HostWorld::Config),
    ("plugport_sdk.tasks", HostWorld::Detaching),
];

/// What the sources below a folder use.
pub(super) fn used_worlds(root: &Path) -> Vec<HostWorld> {
    let files = sources(root);
    let mut modules = Vec::new();
    for file in files {
        // What cannot be read is no part of the plugin, or componentize-py says so.
        let source = std::fs::read(file).unwrap_or_default();
        modules.extend(imported_modules(&String::from_utf8_lossy(&source)));
    }
    let uses = |world| modules.iter().any(|module| needed(module) == Some(world));
    HostWorld::ALL.into_iter().filter(|world| uses(*world)).collect()
}

fn needed(module: &str) -> Option<HostWorld> {
    let is_in =
        |known: &str| module.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    MODULES.iter().find(|(known, _)| is_in(known)).map(|(_, world)| *world)
}

/// The modules that a source imports. Of `from a import b` these are `a` and `a.b`, which may be a module.
fn imported_modules(source: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for statement in statements(&source.replace("\r\n", "\n")) {
        let words: Vec<&str> = statement.split_whitespace().collect();
        let line = words.join(" ");
        if let Some(names) = line.strip_prefix("import ") {
            modules.extend(first_words(names).map(str::to_owned));
        } else if let Some((module, names)) =
            line.strip_prefix("from ").and_then(|rest| rest.split_once(" import "))
        {
            modules.push(module.to_owned());
            modules.extend(first_words(names).map(|name| format!("{module}.{name}")));
        }
    }
    modules
}

/// Of `a as b, c` the words `a` and `c`.
fn first_words(names: &str) -> impl Iterator<Item = &str> {
    names.split(',').filter_map(|name| name.split_whitespace().next())
}

/// The statements of a source, without comments, texts and parentheses. What follows a colon counts as a statement.
fn statements(source: &str) -> Vec<String> {
    let mut statements = vec![String::new()];
    let mut depth = 0_usize;
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => text_length(rest, next),
            '\\' => 1 + rest.get(1..).and_then(|after| after.chars().next()).map_or(0, char::len_utf8),
            _ => next.len_utf8(),
        };
        match next {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(next, '\n' | ';' | ':') {
            statements.push(String::new());
        } else if let Some(statement) = statements.last_mut() {
            let is_kept = next.is_alphanumeric() || matches!(next, '_' | '.' | ',' | '*');
            statement.push(if is_kept { next } else { ' ' });
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    statements
}

/// The length of a text at the start of `rest`, with its quotes. One that is not ended goes to the end of its line, or
/// with three quotes to the end of the source.
fn text_length(rest: &str, quote: char) -> usize {
    let triple = String::from(quote).repeat(3);
    let end = if rest.starts_with(&triple) { triple } else { String::from(quote) };
    let is_short = end.len() == 1;
    let mut is_escaped = false;
    for (at, next) in rest.char_indices().skip(end.len()) {
        if is_escaped {
            is_escaped = false;
        } else if next == '\\' {
            is_escaped = true;
        } else if is_short && next == '\n' {
            return at;
        } else if rest.get(at..).is_some_and(|left| left.starts_with(&end)) {
            return at + end.len();
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::python_sources::is_python_source;

    fn used(source: &str) -> Vec<HostWorld> {
        let modules = imported_modules(source);
        let uses = |world: &HostWorld| modules.iter().any(|module| needed(module) == Some(*world));
        HostWorld::ALL.into_iter().filter(uses).collect()
    }

    #[test]
    fn every_form_of_an_import_counts() {
        use HostWorld::{Config, Detaching, Http, Keyvalue};
        for (source, worlds) in [
            ("from plugport_sdk import http", vec![Http]),
            ("from plugport_sdk import exports, http as h, tool\n", vec![Http]),
            ("from plugport_sdk import (  # all\n    config,\n    kv,\n    tool,\n)", vec![Keyvalue, Config]),
            ("from plugport_sdk import \\\n    kv", vec![Keyvalue]),
            ("from plugport_sdk import \\\r\n    kv", vec![Keyvalue]),
            ("import json, plugport_sdk.config as c", vec![Config]),
            ("from plugport_sdk.http.failure import Denied", vec![Http]),
            ("from plugport_sdk import tasks, tool", vec![Detaching]),
            ("from plugport_sdk.kv import(open)", vec![Keyvalue]),
            ("import os; import urllib.request", vec![Http]),
            ("from urllib import parse, request", vec![Http]),
            ("try: import urllib.request\nexcept ImportError: pass", vec![Http]),
            ("def f():\n\tfrom urllib.request import urlopen\r\n", vec![Http]),
            ("x = f(\"'\", '''\"''', r\"\\\")\")\nfrom plugport_sdk import kv", vec![Keyvalue]),
            ("x = 'not ended\nfrom plugport_sdk import kv", vec![Keyvalue]),
        ] {
            assert_eq!(used(source), worlds, "{source}");
        }
    }

    #[test]
    fn nothing_else_does() {
        for source in [
            "",
            "from plugport_sdk import tool",
            "import urllib.parse, urllib.requests",
            "import http.client",
            "from http import client",
            "from plugport_sdk import *",
            "from .http import get",
            "\"\"\"Says how.\n\nfrom plugport_sdk import http\n\"\"\"",
            "# import urllib.request",
            "x = 'import urllib.request'",
            "important = plugport_sdk.http",
            "'''never ended\nimport urllib.request",
        ] {
            assert_eq!(used(source), [], "{source}");
        }
    }

    #[test]
    fn the_sources_of_the_plugin_count_and_nothing_beside_them() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("env/pyvenv.cfg", "");
        for name in [
            "env/lib/x.py",
            ".venv/x.py",
            "sdk/src/plugport_sdk/http/host.py",
            "tests/x.py",
            "test_plugin.py",
            "plugin_test.py",
            "conftest.py",
            "notes.txt",
        ] {
            write(name, "import urllib.request, plugport_sdk.kv, plugport_sdk.config");
            assert!(!is_python_source(dir.path(), &dir.path().join(name)), "{name}");
        }
        assert_eq!(used_worlds(dir.path()), []);
        write("lib/deep/er.py", "import plugport_sdk.config");
        write("plugin.py", "from plugport_sdk import http");
        assert_eq!(used_worlds(dir.path()), [HostWorld::Http, HostWorld::Config]);
        assert!(sources(dir.path()).iter().all(|file| is_python_source(dir.path(), file)));
    }
}
