//! `plugport serve`: load the folder, say what is published and how to connect, serve until told to stop.

mod announce;
mod prepare;

use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, Stdin};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::memory::Bound;
use super::standing::Stand;
use super::{Failure, console};
use crate::cli;
use crate::config::{self, Config, ConfigError, parse_listen};
use crate::protocol::Server;
use crate::sandbox::{GIVE_BACK_EVERY, give_back, set_up_heap};
use crate::transport::{http, stdio};
pub(super) use announce::NO_TOOLS;
use announce::welcome;
use prepare::{Prepared, open_audit, prepare};

/// What calls that outlive their connections have left when the server stops.
const DRAIN: Duration = Duration::from_secs(5);

pub(super) async fn run(args: cli::Serve) -> Result<ExitCode, Failure> {
    let config = args.source.configuration()?;
    let mut settings = config.server.clone();
    if let Some(address) = &args.listen {
        settings.listen =
            parse_listen(address).map_err(|why| ConfigError::Argument(format!("--listen: {why}")))?;
    }
    allow_open_files();
    set_up_heap();
    let mut signals = Signals::listen(args.until_eof)?;
    // Dropped at the very end, when everything that is noted has been.
    let (audit, _writer) = open_audit(&config)?;
    // Whoever connects from now on waits in the socket.
    let listener = match args.stdio {
        true => None,
        false => Some(listen(&settings).await?),
    };
    let listening = listener.as_ref().map(|listener| listener.address);
    let prepared = tokio::select! {
        prepared = prepare(&args.source, config.clone(), settings, listening, audit) => prepared?,
        () = signals.stopped() => return Ok(ExitCode::SUCCESS),
    };
    tell_bound(&config);
    if let Some(listener) = &listener {
        welcome(listener, &config, args.source.file().as_deref());
    }
    serve(prepared, &config, listener, signals).await
}

/// Serves, follows what changes, and tells who asks how it stands, until told to stop.
async fn serve(
    prepared: Prepared,
    config: &Config,
    listener: Option<http::Listener>,
    signals: Signals,
) -> Result<ExitCode, Failure> {
    let Prepared { server, watcher, folder, catalog, standing } = prepared;
    let address = listener.as_ref().map(|listener| format!("http://{}{}", listener.address, http::PATH));
    let stand = Stand::new(config, catalog, standing);
    let telling = stand.tell(address.unwrap_or_else(|| "stdio".to_owned())).await;
    let stop = CancellationToken::new();
    let watching = tokio::spawn(watcher.run(stop.clone()));
    let following = tokio::spawn(folder.run(stop.clone()));
    let tidying = tokio::spawn(give_back_memory(stop.clone()));
    let served = match listener {
        None => serve_stdio(server, signals).await,
        Some(listener) => serve_http(server, listener, signals).await,
    };
    stop.cancel();
    telling.end().await;
    watching.await.context("watching for changes failed")?;
    following.await.context("following the plugin folder failed")?;
    tidying.await.context("giving back memory failed")?;
    served
}

async fn listen(settings: &config::Server) -> Result<http::Listener, Failure> {
    let wanted = settings.listen;
    let bound = http::Listener::bind(wanted).await.with_context(|| {
        format!("cannot listen on {wanted}; stop what uses it, or choose another address with --listen")
    });
    Ok(bound?)
}

/// Lets this process open as many files as the system permits: every connection is one, and every file of a guest.
fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    if let Err(error) = raised {
        tracing::debug!("the limit on open files stays as it is: {error}");
    }
}

/// Says how much memory this server can come to keep.
fn tell_bound(config: &Config) {
    let bound = Bound::of(&config.server, &config.limits);
    console::remark(&bound.in_words());
    if let Some(warning) = bound.warning() {
        console::remark(&format!("  warning: {warning}"));
    }
}

/// Gives memory that is free back to the system now and then, off the threads that serve.
async fn give_back_memory(stop: CancellationToken) {
    let mut tick = tokio::time::interval(GIVE_BACK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        if tokio::task::spawn_blocking(give_back).await.is_err() {
            return;
        }
    }
}

async fn serve_stdio(server: Arc<Server>, mut signals: Signals) -> Result<ExitCode, Failure> {
    console::remark("serving MCP on stdin and stdout");
    let serving = stdio::serve(Arc::clone(&server), tokio::io::stdin(), tokio::io::stdout());
    let mut serving = pin!(async { tokio::join!(serving, server.keep()).0 });
    let failed = "the client's pipe failed";
    tokio::select! {
        served = serving.as_mut() => return served.context(failed).map(|()| ExitCode::SUCCESS).map_err(Into::into),
        () = signals.stopped() => server.stop(),
    }
    // Draining takes a while; whoever asks twice means it.
    tokio::select! {
        served = serving => served.context(failed)?,
        () = signals.stopped() => return Ok(ExitCode::FAILURE),
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve_http(
    server: Arc<Server>,
    listener: http::Listener,
    mut signals: Signals,
) -> Result<ExitCode, Failure> {
    let stop = CancellationToken::new();
    let router = http::router(Arc::clone(&server));
    let mut serving = pin!(async {
        let serving = http::serve(listener, router, server.settings(), stop.clone());
        tokio::join!(serving, server.keep());
        if tokio::time::timeout(DRAIN, server.finish()).await.is_err() {
            tracing::warn!("stopped calls that were still under way");
        }
    });
    tokio::select! {
        () = serving.as_mut() => return Ok(ExitCode::SUCCESS),
        () = signals.stopped() => {
            server.stop();
            stop.cancel();
        }
    }
    // Draining takes a while; whoever asks twice means it.
    tokio::select! {
        () = serving => Ok(ExitCode::SUCCESS),
        () = signals.stopped() => Ok(ExitCode::FAILURE),
    }
}

/// Ctrl-C, termination, and the end of whoever holds stdin, if that counts. Made before anything is served, so that none
/// is missed.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    held: Option<Stdin>,
}

impl Signals {
    fn listen(until_eof: bool) -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        let (interrupt, terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
        Ok(Self { interrupt, terminate, held: until_eof.then(tokio::io::stdin) })
    }

    async fn stopped(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = let_go(&mut self.held) => {}
        }
    }
}

/// Waits for the end of stdin. It comes once: who has gone does not ask twice.
async fn let_go(held: &mut Option<Stdin>) {
    let Some(stdin) = held else { return std::future::pending().await };
    // Nothing is expected there but the end.
    while matches!(stdin.read(&mut [0; 64]).await, Ok(1..)) {}
    *held = None;
}
