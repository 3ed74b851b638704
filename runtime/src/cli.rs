//! The command line. The doc comments here are the manual; those of `new`, `build` and `dev` are in `plugport-authoring`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Serve MCP tools that are sandboxed WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "plugport", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    /// What goes to stderr, for example `warn`, `info` or `info,plugin=debug`
    #[arg(long, global = true, value_name = "FILTER", default_value = "info")]
    pub log: String,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the plugins of a folder to MCP clients
    Serve(Serve),
    /// Call one tool of one plugin, without a server
    Call(Call),
    /// Show what a component offers, what it imports and its digest
    Inspect(Inspect),
    /// Validate the configuration and every plugin, and show what each may reach
    #[command(long_about = CHECK)]
    Check(Check),
    /// Show what changed in plugins since they were approved, and accept it
    Approve(Approve),
    /// Show what your servers serve, and what they do not and why
    Status(Status),
    /// What only authors run.
    #[cfg(feature = "authoring")]
    #[command(flatten)]
    Author(plugport_authoring::AuthorCommand),
    /// Compile one component from stdin to stdout, for a server that runs
    #[command(hide = true)]
    Compile(Compile),
    /// Keep what a compiler answers whose server has ended
    #[command(hide = true)]
    Keep(AwaitCompile),
}

const CHECK: &str = "Validate the configuration and every plugin, and show what each may reach

Loads every plugin under its limits and with nothing granted, so that it changes nothing and can run beside a server; what \
is granted is only shown. Exits with 0 when no fault was found, with 1 when a plugin or a part of it cannot be served, or \
when the configuration names a plugin that is not there, and with 2 when the configuration has mistakes.";

/// Where plugins and their configuration are.
#[derive(Debug, Args)]
pub struct Source {
    /// Folder with the compiled plugins
    #[arg(long, value_name = "DIR", default_value = "plugins")]
    pub plugins: PathBuf,
    /// Configuration file [default: plugport.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// `plugport serve`
#[derive(Debug, Args)]
pub struct Serve {
    /// Where things are.
    #[command(flatten)]
    pub source: Source,
    /// Address for HTTP [default: 127.0.0.1:7584]
    #[arg(long, value_name = "ADDR", conflicts_with = "stdio")]
    pub listen: Option<String>,
    /// Serve one client on stdin and stdout instead of HTTP
    #[arg(long)]
    pub stdio: bool,
    /// Stop when stdin ends, as it does with whoever started this, however that ends
    #[arg(long, hide = true, conflicts_with = "stdio")]
    pub until_eof: bool,
}

/// `plugport call`
#[derive(Debug, Args)]
pub struct Call {
    /// A .wasm file, or the name of a plugin in the plugins folder. Only a file of that folder has what the configuration
    /// says of its plugin; any other has the common limits and no grants but those of `--grant`
    #[arg(value_name = "FILE.wasm|NAME")]
    pub plugin: String,
    /// The tool, by the plugin's own name for it
    pub tool: String,
    /// The tool's arguments, a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub args: String,
    /// Grant a directory: dir=HOST, dir=HOST:GUEST (read-only), dir=HOST:GUEST:rw; requests to a host: http=PATTERN; the store:
    /// kv, kv=MIB; a variable: env=NAME, env=NAME=VALUE; a setting: config=KEY=VALUE; a secret: secret=NAME=env:VARIABLE, secret=NAME=file:PATH. May
    /// be repeated
    #[arg(long, value_name = "GRANT")]
    pub grant: Vec<String>,
    /// Print the MCP result as JSON
    #[arg(long)]
    pub json: bool,
    /// Where things are.
    #[command(flatten)]
    pub source: Source,
}

/// `plugport inspect`
#[derive(Debug, Args)]
pub struct Inspect {
    /// The component
    #[arg(value_name = "FILE.wasm")]
    pub file: PathBuf,
    /// Configuration file; shows what its section for a plugin of this name grants
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// `plugport check`
#[derive(Debug, Args)]
pub struct Check {
    /// Where things are.
    #[command(flatten)]
    pub source: Source,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// `plugport approve`
#[derive(Debug, Args)]
pub struct Approve {
    /// The plugin [default: every plugin of the folder]
    #[arg(value_name = "NAME")]
    pub plugin: Option<String>,
    /// Accept without asking
    #[arg(long)]
    pub yes: bool,
    /// Give plugins what they are granted while they list what they offer; without it they are given nothing before they are
    /// approved
    #[arg(long)]
    pub granted: bool,
    /// Where things are.
    #[command(flatten)]
    pub source: Source,
}

/// `plugport status`
#[derive(Debug, Args)]
pub struct Status {
    /// Only servers with this configuration file [default: all servers of this user]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// `plugport compile`: what a server starts and nobody else.
#[derive(Debug, Args)]
pub struct Compile {
    /// Size of the component
    #[arg(long)]
    pub bytes: usize,
    /// Memory that compiling may take
    #[arg(long)]
    pub memory_mib: u64,
    /// Processor time that compiling may take
    #[arg(long)]
    pub cpu_s: u64,
}

/// `plugport keep`: what a server leaves behind that ends while something is compiled.
#[derive(Debug, Clone, Args)]
pub struct AwaitCompile {
    /// Folder with compiled code
    #[arg(long)]
    pub folder: PathBuf,
    /// Its room
    #[arg(long)]
    pub mib: u64,
    /// SHA-256 of the component
    #[arg(long)]
    pub digest: String,
    /// Longest code
    #[arg(long)]
    pub code_mib: u64,
    /// How long to wait
    #[arg(long)]
    pub within_ms: u64,
}
