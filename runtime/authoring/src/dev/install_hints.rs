//! How to install a program that a build needs and the machine lacks: the exact command, since a beginner in a language
//! does not know it.

use std::sync::LazyLock;

use crate::project::packages;

/// Part of rustc's message about a missing target.
const NO_TARGET: &str = "target may not be installed";

/// The ends of messages of shells and make about a missing program.
const NOT_FOUND: [&str; 3] = [": not found", ": command not found", ": No such file or directory"];

/// Programs that builds of plugins need, and how to get each.
const PROGRAMS: &[(&str, &str)] = &[
    ("cargo", "install Rust: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"),
    ("rustup", "install Rust: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"),
    ("npm", "install Node.js 20 or newer: https://nodejs.org, or on Debian: apt install npm"),
    ("npx", "install Node.js 20 or newer: https://nodejs.org, or on Debian: apt install npm"),
    ("jco", "install it: npm install --save-dev @bytecodealliance/jco"),
    ("componentize-js", "install it: npm install --save-dev @bytecodealliance/componentize-js"),
    ("make", "install it: apt install make, or on macOS: xcode-select --install"),
    ("go", "install Go: https://go.dev/dl"),
    ("clang", "install it: apt install clang lld wasi-libc"),
    ("wasm-tools", "install it: cargo install wasm-tools"),
    ("wit-bindgen", "install it: cargo install wit-bindgen-cli"),
];

/// How to get componentize-py. A build of the author's own finds it in an active virtual environment; outside of one,
/// many systems do not let pip install anything.
static COMPONENTIZE_PY: LazyLock<String> = LazyLock::new(|| {
    let package = packages::COMPONENTIZE_PY;
    format!("install it: python3 -m venv .venv && . .venv/bin/activate && pip install {package}")
});

/// How to get a program.
pub(super) fn for_program(program: &str) -> Option<&'static str> {
    if program == "componentize-py" {
        return Some(COMPONENTIZE_PY.as_str());
    }
    PROGRAMS.iter().find(|(name, _)| *name == program).map(|(_, hint)| *hint)
}

/// The hint for a line of a build's output, if it is about something missing.
pub(super) fn for_line(line: &str) -> Option<&'static str> {
    if line.contains(NO_TARGET) {
        return Some("install the target: rustup target add wasm32-wasip2");
    }
    let before = NOT_FOUND.iter().find_map(|end| line.trim_end().strip_suffix(end))?;
    for_program(before.rsplit([' ', ':']).next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_with_the_command_that_installs_it() {
        for (line, hint) in [
            ("sh: 1: componentize-py: not found", "pip install componentize-py"),
            ("/bin/sh: line 1: jco: command not found", "@bytecodealliance/jco"),
            ("make: wasm-tools: No such file or directory", "cargo install wasm-tools"),
            ("  = note: the `wasm32-wasip2` target may not be installed", "rustup target add wasm32-wasip2"),
        ] {
            assert!(for_line(line).is_some_and(|told| told.contains(hint)), "{line}");
        }
        assert_eq!(for_line("go: module example.com/x: not found"), None);
        assert_eq!(for_line("error: cannot find value `go`"), None);
        assert!(for_program("npm").is_some() && for_program("sh").is_none());
    }
}
