//! The command line of what authors run. The doc comments here are the manual.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// What authors run.
#[derive(Debug, Subcommand)]
pub enum AuthorCommand {
    /// Write a new plugin project
    #[command(long_about = NEW)]
    New(New),
    /// Build a plugin project into a component
    #[command(long_about = BUILD)]
    Build(Build),
    /// Build a plugin project whenever its source changes, and serve it
    Dev(Dev),
}

const NEW: &str = "Write a new plugin project

The project has one tool, its test, and the SDK of its language, so that nothing has to be fetched for it but what the \
language's own tools need. `plugport build` builds it. Nothing that is there already is changed.";

const BUILD: &str = "Build a plugin project into a component

Finds the language from the project's files: Cargo.toml is Rust, package.json is TypeScript or JavaScript, pyproject.toml is \
Python, go.mod is Go, plugin.toml or C files are C. Runs the language's own tools, adds what the project says of itself, writes \
NAME.wasm, and loads it once to show its tools. Exits with 0 when it was built and loads, with 1 when it was not or does not, \
and with 2 when it could not be tried, because a tool is missing for instance.";

/// A language that plugins are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Rust.
    Rust,
    /// TypeScript.
    #[value(name = "typescript", alias = "ts")]
    TypeScript,
    /// JavaScript.
    #[value(name = "javascript", alias = "js")]
    JavaScript,
    /// Python.
    #[value(alias = "py")]
    Python,
    /// Go.
    Go,
    /// C.
    C,
}

/// `plugport new`
#[derive(Debug, Args)]
pub struct New {
    /// The plugin's name, or a path whose last part it is: letters, digits, `_` and `-`
    #[arg(value_name = "NAME")]
    pub project: PathBuf,
    /// What it is written in
    #[arg(long, value_name = "LANGUAGE")]
    pub lang: Option<Language>,
}

/// `plugport build`
#[derive(Debug, Args)]
pub struct Build {
    /// The project
    #[arg(value_name = "DIR", default_value = ".")]
    pub project: PathBuf,
    /// Where to write the component [default: NAME.wasm in the project]
    #[arg(short, long, value_name = "FILE.wasm")]
    pub output: Option<PathBuf>,
    /// Do not load what was built, which compiles it
    #[arg(long)]
    pub no_load: bool,
    /// Print what was built as JSON; the words of the tools go to stderr
    #[arg(long)]
    pub json: bool,
}

/// `plugport dev`
#[derive(Debug, Args)]
pub struct Dev {
    /// The project
    #[arg(value_name = "DIR", default_value = ".")]
    pub project: PathBuf,
    /// Configuration file [default: plugport.toml in the project, if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address for HTTP [default: 127.0.0.1:7584]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Command that builds the project, run by `sh` in it [default: cargo, a `build` script of package.json, make, or
    /// `plugport build`, as the project has files for it]
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// What the build makes, relative to the project [default: what cargo or `plugport build` says, or the newest
    /// component in the project]
    #[arg(long, value_name = "FILE.wasm")]
    pub output: Option<PathBuf>,
}
