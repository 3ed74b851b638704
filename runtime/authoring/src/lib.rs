//! The commands for plugin authors: `plugport new`, `plugport build` and `plugport dev`. They are a crate of their own,
//! so a server can be built without them.
//!
//! The crate does not depend on the server. `dev` starts the program itself as its server. What only the server's code
//! can do goes through [`ServerAccess`], which the program implements.

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
pub use server_access::{
    DevLoad, ListedTool, LoadedPlugin, Loading, RejectedItem, ServerAccess, ServerPaths,
};

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
