//! One file per subcommand, and how each ends: exit 0, 1 for failure, 2 for usage and configuration.

mod approve;
#[cfg(feature = "authoring")]
mod authoring;
mod await_compile;
mod cached_compiler;
mod call;
mod capabilities;
mod check;
mod compile_worker;
mod inspect;
mod memory_estimate;
mod published_names;
mod serve;
mod signature_report;
mod status;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use plugport_common::{CommandError, console};

use crate::cli::{Cli, Command, Source};
use crate::config::{self, Config, ConfigError};
use crate::observe;
use crate::sandbox;

/// Threads for what blocks: files, the store, large work, and guests beside the workers, all of which have bounds of
/// their own that sum up to less.
const BLOCKING_THREADS: usize = 1024;

/// How long one of those threads waits for more work before its memory goes back to the system.
const IDLE_THREAD: Duration = Duration::from_secs(2);

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.into())
    }
}

/// Runs a command to its end.
#[must_use]
pub fn run(cli: Cli) -> ExitCode {
    if let Command::CompileWorker(args) = &cli.command {
        // Before there are threads or files: this process is about to be bounded.
        return compile_worker::run(args);
    }
    if let Command::AwaitCompile(args) = &cli.command {
        return await_compile::run(args);
    }
    // Dropped when the last word has been said.
    let _stderr = match cli.command {
        Command::Serve(_) => observe::spawn_stderr_writer().ok(),
        _ => None,
    };
    let outcome = start_logging(&cli).and_then(|()| {
        let runtime = runtime()?;
        let outcome = runtime.block_on(async {
            match cli.command {
                Command::Serve(args) => serve::run(args).await,
                Command::Call(args) => call::run(args).await,
                Command::Inspect(args) => inspect::run(args).await,
                Command::Check(args) => check::run(args).await,
                Command::Approve(args) => approve::run(args).await,
                Command::Status(args) => status::run(args).await,
                #[cfg(feature = "authoring")]
                Command::Author(command) => {
                    plugport_authoring::run(command, &cli.log, &authoring::ThisServer).await
                }
                Command::CompileWorker(args) => Ok(compile_worker::run(&args)),
                Command::AwaitCompile(args) => Ok(await_compile::run(&args)),
            }
        });
        // A thread may be reading stdin, which nothing can interrupt.
        runtime.shutdown_background();
        outcome
    });
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            let code = failure.code();
            console::report(&failure.into_error());
            code
        }
    }
}

/// These give plugins nothing, so what they are denied there says nothing of how they are served and is not told.
fn start_logging(cli: &Cli) -> Result<(), CommandError> {
    let log = &cli.log;
    let filter = match cli.command {
        Command::Check(_) | Command::Approve(_) => format!("plugin=error,{log}"),
        _ => log.clone(),
    };
    observe::init_tracing(&filter)
        .map_err(|error| CommandError::Usage(anyhow::anyhow!("--log {log} cannot be read: {error}")))
}

/// The interval is 2 because guests yield often: with the default of 61, two busy guests delay every socket by 50 ms
/// and more, and 1 would starve tasks that yield by way of tokio. There is one worker more than guests may occupy, and
/// there are threads for guests that run beside the workers (`docs/decisions/0003-engine.md`).
fn runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(sandbox::worker_threads())
        .max_blocking_threads(BLOCKING_THREADS)
        .event_interval(2)
        .thread_keep_alive(IDLE_THREAD)
        .enable_all()
        .build();
    Ok(runtime.context("cannot start the async runtime")?)
}

/// Says that there is none of this name, which one was likely meant, and which there are.
fn unknown(none: &str, there: &str, name: &str, names: &[&str]) -> String {
    // The path of its file is a way to name a plugin, though not here.
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.strip_suffix(".wasm").unwrap_or(name);
    let meant = config::nearest(name, names).map(|near| format!("; did you mean `{near}`?"));
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    match meant {
        Some(meant) => format!("{none}{meant} ({there}: {names})"),
        None => format!("{none}; {there}: {names}"),
    }
}

impl Source {
    /// The configuration file: the named one, or `plugport.toml` where there is one.
    fn file(&self) -> Option<PathBuf> {
        Some(self.config_file()).filter(|file| self.config.is_some() || file.is_file())
    }

    /// Where the configuration is, or would be.
    fn config_file(&self) -> PathBuf {
        self.config.clone().unwrap_or_else(|| Path::new("plugport.toml").to_owned())
    }

    fn configuration(&self) -> Result<Config, ConfigError> {
        match self.file() {
            Some(file) => Config::read(&file, self.plugins.clone()),
            None => Ok(Config::new(self.plugins.clone())),
        }
    }
}
