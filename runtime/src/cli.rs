//! The command line. The doc comments here are the manual; those of `new`, `build` and `dev` are in
//! `plugport-authoring`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Serve MCP tools that are sandboxed WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "plugport", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    /// Level of the log on stderr, for example `warn`, `info` or `info,plugin=debug`
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
    /// Show what a component lists and imports, and its digest
    Inspect(Inspect),
    /// Validate the configuration and every plugin, and show what each plugin may do
    #[command(long_about = CHECK)]
    Check(Check),
    /// Show what changed in plugins since they were approved, and ask whether to accept it
    Approve(Approve),
    /// Show what your servers serve, and why they do not serve a file
    Status(Status),
    /// What only authors run.
    #[cfg(feature = "authoring")]
    #[command(flatten)]
    Author(plugport_authoring::AuthorCommand),
    /// Compile one component from stdin to stdout, for a running server
    #[command(hide = true)]
    CompileWorker(Compile),
    /// Store the code of a compiler whose server has ended
    #[command(hide = true)]
    AwaitCompile(AwaitCompile),
}

const CHECK: &str = "Validate the configuration and every plugin, and show what each plugin may do

Loads every plugin under its limits with nothing granted, and compares its imports with its grants. Changes nothing, so it can \
run beside a server. Exits with 0 when there is no fault; with 1 when a plugin or an item of it cannot be served, or when the \
configuration names a plugin that the folder does not have; and with 2 when the configuration has mistakes.";

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
    /// Stop when stdin ends, which is when the process that started this server ends
    #[arg(long, hide = true, conflicts_with = "stdio")]
    pub until_eof: bool,
}

/// `plugport call`
#[derive(Debug, Args)]
pub struct Call {
    /// A .wasm file, or the name of a plugin in the plugin folder. A plugin of that folder has its limits and grants
    /// from the configuration; any other file has the common limits and the grants of `--grant` only
    #[arg(value_name = "FILE.wasm|NAME")]
    pub plugin: String,
    /// The tool, by the plugin's own name for it
    pub tool: String,
    /// The tool's arguments, a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub args: String,
    /// Grant a directory: dir=HOST, dir=HOST:GUEST (read-only), dir=HOST:GUEST:rw; requests to a host: http=PATTERN;
    /// the key-value store: kv, kv=MIB; a variable: env=NAME, env=NAME=VALUE; a setting: config=KEY=VALUE; a secret:
    /// secret=NAME=env:VARIABLE, secret=NAME=file:PATH. May be repeated
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
    /// Configuration file; compares the grants of the plugin of this name with the imports
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
    /// Give plugins their grants while they are listed; without this option a plugin has no grants before it is
    /// approved
    #[arg(long)]
    pub with_grants: bool,
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

/// `plugport compile-worker`: only servers start it.
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

/// `plugport await-compile`: a server that ends while it compiles leaves it behind.
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
