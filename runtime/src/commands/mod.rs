//! One file per subcommand, and how each ends: exit 0, 1 for failure, 2 for usage and configuration.

mod access;
mod approve;
#[cfg(feature = "authoring")]
mod authoring;
mod await_compile;
mod cached_compiler;
mod call;
mod capability_report;
mod check;
mod compile_worker;
mod forget;
mod inspect;
mod json_option;
mod memory_estimate;
mod published_names;
mod serve;
mod signature_report;
mod status;
mod token;
mod ungranted_folder;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use plugport_common::{CommandError, console};

use crate::cli::{Cli, Command, Source};
use crate::config::{self, Config, ConfigError};
use crate::observe;
use crate::sandbox;

/// Threads for blocking work: files, the database, large computations, and guests beside the workers. Each of these has
/// a bound of its own, and the sum of the bounds is less than this.
const BLOCKING_THREADS: usize = 1024;

/// How long an idle thread of these waits for more work; its memory then goes back to the system.
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
        // Before there are threads or files: this process is about to limit itself.
        return compile_worker::run(args);
    }
    if let Command::AwaitCompile(args) = &cli.command {
        return await_compile::run(args);
    }
    let is_serving = matches!(cli.command, Command::Serve(_));
    if is_serving {
        sandbox::set_malloc_thresholds();
    }
    // Dropped after the last line of the log.
    let _stderr = if is_serving { observe::spawn_stderr_writer().ok() } else { None };
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
                Command::Forget(args) => forget::run(args).await,
                Command::Token(args) => token::run(args).await,
                Command::Access(args) => access::run(args).await,
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

/// `check`, `approve` and `access` run plugins without grants, so denials there say nothing about serving and are not
/// logged.
fn start_logging(cli: &Cli) -> Result<(), CommandError> {
    let log = &cli.log;
    let filter = match cli.command {
        Command::Check(_) | Command::Approve(_) | Command::Access(_) => format!("plugin=error,{log}"),
        _ => log.clone(),
    };
    observe::init_tracing(&filter)
        .map_err(|error| CommandError::Usage(anyhow::anyhow!("--log {log} cannot be read: {error}")))
}

/// `event_interval` is 2 because guests yield often: with tokio's default of 61, two busy guests delay every socket by
/// 50 ms and more, and 1 would starve tasks that yield with tokio's own function. There is one worker more than guests
/// may occupy, and there are threads for guests that run beside the workers (`docs/decisions/0003-engine.md`).
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

/// An error text for an unknown name: `none`, the nearest name, and all `names`.
fn unknown(none: &str, there: &str, name: &str, names: &[&str]) -> String {
    // A path is not a name here, but its stem may be one.
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.strip_suffix(".wasm").unwrap_or(name);
    let suggestion = config::nearest(name, names).map(|near| format!("; did you mean `{near}`?"));
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    match suggestion {
        Some(suggestion) => format!("{none}{suggestion} ({there}: {names})"),
        None => format!("{none}; {there}: {names}"),
    }
}

impl Source {
    /// The configuration file: the one that `--config` names, or `plugport.toml` if it exists.
    fn file(&self) -> Option<PathBuf> {
        Some(self.config_file()).filter(|file| self.config.is_some() || file.is_file())
    }

    /// The path of the configuration, which may be missing.
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
