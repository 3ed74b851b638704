//! A project made from a template, and its build.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::fresh_caches::FreshCaches;
use crate::support::server::PROGRAM;

/// Suffixes of sources, and folders without sources of the tool.
const SOURCE_SUFFIXES: [&str; 8] = ["rs", "ts", "js", "py", "go", "c", "cpp", "zig"];
const OTHER_FOLDERS: [&str; 6] = ["sdk", "node_modules", "target", "tests", "test", "__pycache__"];

/// The beginnings of comment lines.
const COMMENTS: [&str; 5] = ["//", "#!", "/*", "*", "# "];

pub struct Project<'c> {
    folder: PathBuf,
    caches: &'c FreshCaches,
}

impl<'c> Project<'c> {
    /// Makes the project anew, and installs its packages.
    pub fn new(home: &Path, caches: &'c FreshCaches, language: &str) -> Result<Self, String> {
        let parent = home.join(language);
        if parent.exists() {
            std::fs::remove_dir_all(&parent).unwrap();
        }
        std::fs::create_dir_all(&parent).unwrap();
        run(&parent, caches, PROGRAM, &["new", "hello", "--lang", language])?;
        let folder = parent.join("hello");
        if folder.join("package.json").is_file() {
            run(
                &folder,
                caches,
                "npm",
                &["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"],
            )?;
        }
        Ok(Self { folder, caches })
    }

    /// Builds the project; returns the seconds.
    pub fn build(&self) -> Result<f64, String> {
        let start = Instant::now();
        run(&self.folder, self.caches, PROGRAM, &["build", "--no-load"])?;
        Ok(start.elapsed().as_secs_f64())
    }

    pub fn component(&self) -> PathBuf {
        self.folder.join("hello.wasm")
    }

    /// Changes the greeting, as a developer would, to one that no earlier run had.
    pub fn change(&self) {
        self.replace(&[("Hello", self.caches.word("Hello", 0))]);
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Saves the source with other words, each of which may have a number at its end from the last time. Returns when.
    pub fn replace(&self, words: &[(&str, String)]) -> Instant {
        let (source, mut text) = self.main_source();
        for (word, new) in words {
            let mut parts = text.split(word);
            let first = parts.next().unwrap_or_default().to_owned();
            text = parts.fold(first, |text, part| {
                format!("{text}{new}{}", part.trim_start_matches(|c: char| c.is_ascii_digit()))
            });
        }
        std::fs::write(source, text).unwrap();
        Instant::now()
    }

    /// Saves the source with one more error of syntax, which is one in every language. Returns when.
    pub fn break_syntax(&self) -> Instant {
        let (source, text) = self.main_source();
        std::fs::write(source, format!("{text}\n)\n")).unwrap();
        Instant::now()
    }

    /// The source with the tool, and its text.
    fn main_source(&self) -> (PathBuf, String) {
        let first = self.sources().into_iter().next();
        let source = first.unwrap_or_else(|| panic!("no source in {}", self.folder.display()));
        let text = std::fs::read_to_string(&source).unwrap();
        (source, text)
    }

    /// Lines of the tool, without blank ones, comments and tests.
    pub fn lines(&self) -> usize {
        self.sources().iter().map(|source| lines(&std::fs::read_to_string(source).unwrap())).sum()
    }

    fn sources(&self) -> Vec<PathBuf> {
        let (mut sources, mut pending) = (Vec::new(), vec![self.folder.clone()]);
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
                let source =
                    path.extension().is_some_and(|end| SOURCE_SUFFIXES.iter().any(|source| end == *source));
                if path.is_dir() && !OTHER_FOLDERS.contains(&&*name) && !name.starts_with('.') {
                    pending.push(path);
                } else if source && !name.contains("test") {
                    sources.push(path);
                }
            }
        }
        sources.sort();
        sources
    }
}

fn lines(text: &str) -> usize {
    let tool = text.split("#[cfg(test)]").next().unwrap_or_default();
    // Descriptions in Python are docstrings.
    let mut described = false;
    let counts = |line: &&str| {
        let quotes = line.matches("\"\"\"").count();
        let inside = described || quotes > 0;
        described ^= quotes % 2 == 1;
        !inside && !line.is_empty() && !COMMENTS.iter().any(|begin| line.starts_with(begin))
    };
    tool.lines().map(str::trim).filter(counts).count()
}

fn run(folder: &Path, caches: &FreshCaches, program: &str, words: &[&str]) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(words).current_dir(folder).env("PATH", path()).envs(caches.environment());
    let output = command.output();
    let output = output.map_err(|error| format!("cannot run {program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{} failed: {}", words.join(" "), said.trim()))
}

/// `PATH` with the tools of `cargo toolchain` first.
pub fn path() -> OsString {
    let own = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/toolchain/python/bin"));
    let machine = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&machine))).unwrap()
}
