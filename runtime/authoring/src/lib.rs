//! What only plugin authors run: `plugport new`, `plugport build` and `plugport dev`, as a crate that a server which
//! only serves is built without.
//!
//! The crate does not depend on the server. `dev` starts the program itself as its server, and the few questions that
//! only the server's code can answer go through [`ServerAccess`], which the program implements.

mod atomic_write;
mod build;
mod child_output;
mod cli;
mod dev;
mod new;
mod project;
mod server_access;
mod signals;

use std::process::ExitCode;

use plugport_common::CommandError;

pub use cli::{AuthorCommand, Build, Dev, Language, New};
pub use server_access::{ListedTool, LoadedPlugin, Loading, RejectedItem, ServerAccess, ServerPaths};

/// Runs a command to its end. `log` is the program's `--log`, for the server that `dev` starts.
///
/// # Errors
/// When the command cannot be tried, or fails.
pub async fn run(
    command: AuthorCommand,
    log: &str,
    access: &'static dyn ServerAccess,
) -> Result<ExitCode, CommandError> {
    match command {
        AuthorCommand::New(args) => new::run(&args),
        AuthorCommand::Build(args) => build::run(args, access).await,
        AuthorCommand::Dev(args) => dev::run(args, log, access).await,
    }
}
