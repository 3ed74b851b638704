//! The command line. The doc comments here are the manual; those of `new`, `build` and `dev` are in
//! `plugport-authoring`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Serve MCP tools that are sandboxed WebAssembly components
#[derive(Debug, Parser)]
#[command(name = "plugport", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    /// Level of the log on stderr, such as `warn`, `info` or `info,plugin=debug`
    #[arg(long, global = true, value_name = "FILTER", default_value = "info")]
    pub log: String,
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
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
    /// Delete what a caller has stored, with all plugins
    Forget(Forget),
    /// Make a token for a caller, or find out why a token is refused
    Token(Token),
    /// Show what a caller sees and may use, and which line of the configuration says so
    #[command(long_about = ACCESS)]
    Access(Access),
    /// The commands for authors.
    #[cfg(feature = "authoring")]
    #[command(flatten)]
    Author(plugport_authoring::AuthorCommand),
    /// Compile one component from stdin to stdout, for a running server
    #[command(hide = true)]
    CompileWorker(Compile),
    /// Store the code of a compiler process whose server has ended
    #[command(hide = true)]
    AwaitCompile(AwaitCompile),
}

const CHECK: &str = "Validate the configuration and every plugin, and show what each plugin may do

Loads every plugin under its limits without grants, and compares its imports with its grants.
Changes nothing, so it can run beside a server.

Exit code 0: no fault.
Exit code 1: a plugin or an item cannot be served, or a configured plugin has no file.
Exit code 2: the configuration has mistakes.";

/// The plugin folder and the configuration.
#[derive(Debug, Args)]
pub struct Source {
    /// Folder with the compiled plugins
    #[arg(long, value_name = "DIR", default_value = "plugins")]
    pub plugins: PathBuf,
    /// Configuration file [default: plugport.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// `plugport serve`
#[derive(Debug, Args)]
pub struct Serve {
    /// The plugin folder and the configuration.
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
    /// A file with sources that a plugin built by `plugport dev` loads instead of those that it was built with
    #[arg(long, hide = true, value_name = "FILE", requires = "until_eof")]
    pub dev_sources: Option<PathBuf>,
    /// Compile in little time, to slower code
    #[arg(long, hide = true, requires = "until_eof")]
    pub dev_quick: bool,
}

/// `plugport call`
#[derive(Debug, Args)]
pub struct Call {
    /// A plugin's name or a .wasm file; files outside the plugin folder get no configured grants
    #[arg(value_name = "FILE.wasm|NAME")]
    pub plugin: String,
    /// The tool's name in the plugin
    pub tool: String,
    /// The tool's arguments as a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub args: String,
    /// Grant one capability to the plugin; may be repeated
    #[arg(long, value_name = "GRANT", long_help = GRANT)]
    pub grant: Vec<String>,
    /// Accept one form of the plugin with this content, a JSON object; may be repeated
    #[arg(long, value_name = "JSON")]
    pub accept: Vec<String>,
    /// Decline the forms of the plugin for which there is no --accept
    #[arg(long)]
    pub decline: bool,
    /// Respond to one sampling request of the plugin with this text; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub sample: Vec<String>,
    /// Respond with this folder when the plugin asks for roots; may be repeated
    #[arg(long, value_name = "DIR")]
    pub root: Vec<PathBuf>,
    /// Print the MCP result as JSON
    #[arg(long)]
    pub json: bool,
    /// The plugin folder and the configuration.
    #[command(flatten)]
    pub source: Source,
}

const GRANT: &str = "Grant one capability to the plugin; may be repeated

dir=HOST or dir=HOST:GUEST: read the directory HOST
dir=HOST:GUEST:rw: read and write the directory HOST
http=PATTERN: send requests to hosts that match
kv or kv=MIB: use the key-value store
kv=MIB,per=caller: use a key-value store for each caller
env=NAME or env=NAME=VALUE: read an environment variable
config=KEY=VALUE: read a setting
secret=NAME=env:VARIABLE or secret=NAME=file:PATH: read a secret
sampling: ask the client's model, which is --sample here
elicitation: ask the user at the client, who is --accept and --decline here
roots: see the folders of --root
roots=DIR: also read those of them that lie below DIR";

/// `plugport inspect`
#[derive(Debug, Args)]
pub struct Inspect {
    /// The component
    #[arg(value_name = "FILE.wasm")]
    pub file: PathBuf,
    /// Configuration file; shows whether the grants of the plugin of this name fit the imports
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// `plugport check`
#[derive(Debug, Args)]
pub struct Check {
    /// The plugin folder and the configuration.
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
    /// Give plugins their grants while they are listed, which happens before their approval
    #[arg(long)]
    pub with_grants: bool,
    /// The plugin folder and the configuration.
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

/// `plugport forget`
#[derive(Debug, Args)]
pub struct Forget {
    /// The caller, as the audit names it, such as token:ada
    pub caller: String,
    /// The plugin folder and the configuration.
    #[command(flatten)]
    pub source: Source,
}

/// `plugport token`
#[derive(Debug, Args)]
pub struct Token {
    /// What to do.
    #[command(subcommand)]
    pub command: TokenCommand,
}

/// The subcommands of `token`.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Print a new token once, and the section of plugport.toml that accepts it
    New(NewToken),
    /// Read a token from stdin, and show whose it is or why it is refused
    Check(CheckToken),
}

/// `plugport token new`
#[derive(Debug, Args)]
pub struct NewToken {
    /// The holder's name; the principal is token:NAME
    pub name: String,
    /// A group that the holder belongs to; may be repeated
    #[arg(long)]
    pub group: Vec<String>,
    /// A scope that the token has; may be repeated
    #[arg(long)]
    pub scope: Vec<String>,
    /// The day on which the token expires, such as 2027-01-01
    #[arg(long, value_name = "DATE", value_parser = expiry_date)]
    pub until: Option<String>,
}

/// `plugport token check`
#[derive(Debug, Args)]
pub struct CheckToken {
    /// The plugin folder and the configuration.
    #[command(flatten)]
    pub source: Source,
}

/// `plugport access`
#[derive(Debug, Args)]
pub struct Access {
    /// The caller: `stdio`, `anonymous`, or facts such as token:ci, sub:alice, group:staff
    #[arg(value_name = "WHO", required = true, long_help = WHO)]
    pub who: Vec<String>,
    /// Only the tool with this published name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["resource", "prompt"])]
    pub tool: Option<String>,
    /// Only the resource with this URI, or the resource template with this text
    #[arg(long, value_name = "URI", conflicts_with = "prompt")]
    pub resource: Option<String>,
    /// Only the prompt with this published name
    #[arg(long, value_name = "NAME")]
    pub prompt: Option<String>,
    /// The arguments of the tool or prompt as a JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "resource")]
    pub args: Option<String>,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
    /// The plugin folder and the configuration.
    #[command(flatten)]
    pub source: Source,
}

const ACCESS: &str = "Show what a caller sees and may use, and which line of the configuration says so

Loads every plugin under its limits without grants, and asks the [roles] of the configuration.
Changes nothing, so it can run beside a server.

Exit code 0: the caller may use the item, or no item was asked for.
Exit code 1: the caller may not use the item.
Exit code 2: WHO describes no caller, there is no such item, or the configuration has mistakes.";

const WHO: &str = "The caller, in words of `who`; several words describe one caller

stdio: the client that started the server
anonymous: a client of HTTP without credentials
token:NAME: the holder of a token of [[auth.tokens]], with its groups and scopes
sub:NAME: an access token with this `sub`
group:NAME, scope:NAME, client:ID: what an access token says besides; may be repeated
cert:SUBJECT: a client certificate
principal:ID: a principal as the audit names it
address:IP: where the caller is, besides any of these but stdio";

/// A day, as TOML writes one.
fn expiry_date(text: &str) -> Result<String, String> {
    let midnight = humantime::parse_rfc3339(&format!("{text}T00:00:00Z"));
    midnight.map(|_| text.to_owned()).map_err(|_| "write a day such as 2027-01-01".to_owned())
}

/// `plugport compile-worker`: only servers start it.
#[derive(Debug, Args)]
pub struct Compile {
    /// Size of the component in bytes
    #[arg(long)]
    pub bytes: usize,
    /// Memory limit of compiling in MiB
    #[arg(long)]
    pub memory_mib: u64,
    /// Limit of processor time in seconds
    #[arg(long)]
    pub cpu_s: u64,
    /// Compile in little time, to slower code
    #[arg(long)]
    pub quick: bool,
}

/// `plugport await-compile`: a server that ends while it compiles starts this process.
#[derive(Debug, Clone, Args)]
pub struct AwaitCompile {
    /// Folder of the code cache
    #[arg(long)]
    pub folder: PathBuf,
    /// Quota of the code cache in MiB
    #[arg(long)]
    pub mib: u64,
    /// SHA-256 of the component
    #[arg(long)]
    pub digest: String,
    /// Maximum size of the code in MiB
    #[arg(long)]
    pub code_mib: u64,
    /// How long to wait, in milliseconds
    #[arg(long)]
    pub within_ms: u64,
}
