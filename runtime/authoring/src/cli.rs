//! The command line of the authors' commands. The doc comments here are the manual.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// The commands for authors.
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

The project has one tool, its test, and the SDK of its language.
`plugport build` builds it. Existing files are not changed.";

const BUILD: &str = "Build a plugin project into a component

Runs the tools of the project's language, adds metadata, and writes NAME.wasm.
Then loads the component once to show its tools.
The same sources make the same component, also in another folder, and no tool makes it again if nothing has changed;
only Go, C, C++ and Zig link again. A build that cannot promise that says why.

Cargo.toml is for Rust, package.json for TypeScript or JavaScript, and pyproject.toml for Python.
go.mod is for Go, and plugin.toml or files of C, C++ or Zig for these three.

Exit code 0: the component was built and loads.
Exit code 1: building or loading failed.
Exit code 2: building could not start, for instance because a tool is missing.";

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
    /// C++.
    #[value(alias = "c++")]
    Cpp,
    /// Zig.
    Zig,
}

/// `plugport new`
#[derive(Debug, Args)]
pub struct New {
    /// The plugin's name, or a path that ends with it; lower-case letters, digits, `-` and `_`, a letter first
    #[arg(value_name = "NAME")]
    pub project: PathBuf,
    /// The project's language
    #[arg(long, value_name = "LANGUAGE")]
    pub lang: Option<Language>,
    /// With a skill: instructions for a model, in skills/
    #[arg(long)]
    pub skill: bool,
    /// With an app: an HTML file that clients show for the result of the tool, in ui/
    #[arg(long)]
    pub ui: bool,
}

/// `plugport build`
#[derive(Debug, Args)]
pub struct Build {
    /// The project's folder
    #[arg(value_name = "DIR", default_value = ".")]
    pub project: PathBuf,
    /// File for the component [default: NAME.wasm in the project]
    #[arg(short, long, value_name = "FILE.wasm")]
    pub output: Option<PathBuf>,
    /// Do not load the component, which would compile it
    #[arg(long)]
    pub no_load: bool,
    /// Print the result as JSON; the output of the tools goes to stderr
    #[arg(long)]
    pub json: bool,
    /// File for the sources that the component loads as data; `plugport dev` names one
    #[arg(long, hide = true, value_name = "FILE", requires = "output")]
    pub dev_sources: Option<PathBuf>,
    /// Digest of the project's files that are no such sources
    #[arg(long, hide = true, value_name = "DIGEST", requires = "dev_sources")]
    pub dev_others: Option<String>,
    /// Configuration file of the server that `plugport dev` runs
    #[arg(long, hide = true, value_name = "FILE", requires = "dev_sources")]
    pub dev_config: Option<PathBuf>,
}

/// `plugport dev`
#[derive(Debug, Args)]
pub struct Dev {
    /// The project's folder
    #[arg(value_name = "DIR", default_value = ".")]
    pub project: PathBuf,
    /// Configuration file [default: plugport.toml in the project, if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address for HTTP [default: 127.0.0.1:7584]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Shell command that builds the project [default: cargo, `npm run build`, make or `plugport build`]
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// The component that the build writes, relative to the project [default: found after each build]
    #[arg(long, value_name = "FILE.wasm")]
    pub output: Option<PathBuf>,
}
