//! `plugport serve`: prints how to connect, loads the folder and serves it until told to stop.

mod event_printer;
mod server_metrics;
mod signals;
mod startup;

use std::net::SocketAddr;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::memory_estimate::MemoryEstimate;
use super::status::StatusSource;
use super::{CommandError, console};
use crate::catalog::Catalog;
use crate::cli;
use crate::config::{self, Config, ConfigError, parse_listen};
use crate::mcp::Server;
use crate::sandbox::{TRIM_INTERVAL, trim_heap};
use crate::transport::telemetry::TelemetryListener;
use crate::transport::{http, stdio};
use crate::watch::{ScanError, scan};
#[cfg(feature = "authoring")]
pub(super) use event_printer::NO_TOOLS;
use event_printer::welcome;
use server_metrics::ServerMetrics;
use signals::Signals;
pub(super) use startup::policy;
use startup::{ServerParts, open_audit, prepare};

/// How long the server waits for the first scan of the folder before it serves: longer than a disk takes, and too short
/// to notice.
const FIRST_SCAN_TIMEOUT: Duration = Duration::from_millis(250);

/// How long a client on stdio may take to read its last responses.
const FLUSH_TIME: Duration = Duration::from_secs(1);

pub(super) async fn run(args: cli::Serve) -> Result<ExitCode, CommandError> {
    let config = args.source.configuration()?;
    let mut settings = config.server.clone();
    if let Some(address) = &args.listen {
        settings.listen =
            parse_listen(address).map_err(|why| ConfigError::Argument(format!("--listen: {why}")))?;
    }
    let folder = config.folder.clone();
    check_plugin_folder(move || scan(&folder).map(drop)).await?;
    allow_open_files();
    let mut signals = Signals::listen(args.until_eof)?;
    // Dropped at the very end, after the last event.
    let (audit, _writer) = open_audit(&config)?;
    // Clients that connect from now on wait in the socket.
    let listener = match args.stdio {
        true => None,
        false => Some(listen(&settings)?),
    };
    let telemetry =
        config.telemetry.listen.map(|address| listen_for_scrapers(address, &settings)).transpose()?;
    let listening = listener.as_ref().map(|listener| listener.address);
    let parts = prepare(&args, config.clone(), settings, listening, audit)?;
    print_memory_estimate(&config);
    signals.reload(parts.folder.rescan_signal());
    if let Some(listener) = &listener {
        welcome(listener, &config, args.source.file().as_deref());
    }
    serve(parts, &config, listener, telemetry, signals).await
}

/// Fails if there is no plugin folder, before anything is made. A file system may block the scan for ever; then the
/// server serves, and lists wait.
async fn check_plugin_folder(
    scan: impl FnOnce() -> Result<(), ScanError> + Send + 'static,
) -> Result<(), CommandError> {
    match tokio::time::timeout(FIRST_SCAN_TIMEOUT, tokio::task::spawn_blocking(scan)).await {
        Ok(Ok(scanned)) => scanned.map_err(|error| CommandError::Usage(error.into())),
        Ok(Err(_)) | Err(_) => Ok(()),
    }
}

/// Serves clients and status requests and follows the plugin folder, until told to stop.
async fn serve(
    parts: ServerParts,
    config: &Config,
    listener: Option<http::Listener>,
    telemetry: Option<TelemetryListener>,
    signals: Signals,
) -> Result<ExitCode, CommandError> {
    let ServerParts { server, refresher, folder, catalog, load_status, exporter, metrics, mut opening } =
        parts;
    let address = listener.as_ref().map(|listener| format!("{}{}", listener.url(), http::PATH));
    let calls = RunningCalls { catalog: Arc::clone(&catalog), shutdown: server.settings().shutdown };
    let connections = listener.as_ref().map(http::Listener::connections);
    let scraped =
        telemetry.map(|telemetry| Scraped::start(telemetry, ServerMetrics { connections, ..metrics }));
    let status = StatusSource::new(config, catalog, load_status);
    let status_server = status.serve(address.unwrap_or_else(|| "stdio".to_owned())).await;
    let stop = CancellationToken::new();
    let refreshing = tokio::spawn(refresher.run(stop.clone()));
    let following = tokio::spawn(folder.run(stop.clone()));
    let trimming = tokio::spawn(trim_heap_regularly(stop.clone()));
    let exporting = exporter.map(|exporter| tokio::spawn(exporter.run(stop.clone())));
    let served = match listener {
        None => serve_stdio(server, signals, &calls).await,
        Some(listener) => serve_http(server, listener, signals, &calls).await,
    };
    stop.cancel();
    if let Some(scraped) = scraped {
        scraped.shut_down().await.context("serving metrics failed")?;
    }
    status_server.shut_down().await;
    refreshing.await.context("listing plugins again failed")?;
    following.await.context("following the plugin folder failed")?;
    trimming.await.context("giving back memory failed")?;
    if let Some(exporting) = exporting {
        exporting.await.context("sending traces failed")?;
    }
    while opening.join_next().await.is_some() {}
    served
}

fn listen(settings: &config::ServerConfig) -> Result<http::Listener, CommandError> {
    let address = settings.listen;
    let tls = settings.tls.as_ref().map(http::TlsAcceptor::load).transpose();
    let tls = tls.map_err(|error| CommandError::Usage(error.into()))?;
    let bound = http::Listener::bind(address).with_context(|| {
        format!("cannot listen on {address}; stop what uses it, or choose another address with --listen")
    });
    let listener = bound?;
    Ok(match tls {
        Some(tls) => listener.with_tls(tls),
        None => listener,
    })
}

/// Binds the listener of `[telemetry]`, and says where it is.
fn listen_for_scrapers(
    address: SocketAddr,
    settings: &config::ServerConfig,
) -> Result<TelemetryListener, CommandError> {
    let listener = TelemetryListener::bind(address, settings).with_context(|| {
        format!(
            "cannot serve metrics on {address}; stop what uses it, or choose another address with `listen` under \
             [telemetry]"
        )
    })?;
    let address = listener.address;
    console::eprint(&format!("serving metrics at http://{address}/metrics"));
    if !address.ip().is_loopback() {
        console::eprint("  warning: other machines can read them, and need no credentials");
    }
    Ok(listener)
}

/// The listener of `[telemetry]`, which serves until the last call has ended, so that probes see the server stop.
struct Scraped {
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Scraped {
    fn start(listener: TelemetryListener, metrics: ServerMetrics) -> Self {
        let stop = CancellationToken::new();
        let serving = tokio::spawn(listener.serve(metrics, stop.clone()));
        Self { stop, serving }
    }

    async fn shut_down(self) -> Result<(), tokio::task::JoinError> {
        self.stop.cancel();
        self.serving.await
    }
}

/// Raises the limit on open files to the system's maximum: every connection takes one, and every file of a guest.
fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    if let Err(error) = raised {
        tracing::debug!("the limit on open files cannot be raised: {error}");
    }
}

/// Prints how much memory this server may use at most.
fn print_memory_estimate(config: &Config) {
    let estimate = MemoryEstimate::of(&config.server);
    console::eprint(&estimate.in_words());
    if let Some(warning) = estimate.warning() {
        console::eprint(&format!("  warning: {warning}"));
    }
}

/// Gives free memory back to the system from time to time, on a blocking thread.
async fn trim_heap_regularly(stop: CancellationToken) {
    let mut tick = tokio::time::interval(TRIM_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        if tokio::task::spawn_blocking(trim_heap).await.is_err() {
            return;
        }
    }
}

async fn serve_stdio(
    server: Arc<Server>,
    mut signals: Signals,
    calls: &RunningCalls,
) -> Result<ExitCode, CommandError> {
    console::eprint("serving MCP on stdin and stdout");
    let serving = stdio::serve(Arc::clone(&server), stdio::stdin(), stdio::stdout());
    let mut serving = pin!(async { tokio::join!(serving, server.run_housekeeping()).0 });
    let failed = "the client's pipe failed";
    tokio::select! {
        served = serving.as_mut() => return served.context(failed).map(|()| ExitCode::SUCCESS).map_err(Into::into),
        () = signals.stopped() => {
            calls.report_stopping();
            server.stop();
        }
    }
    // Draining takes a while; a second signal stops at once.
    tokio::select! {
        served = tokio::time::timeout(calls.shutdown + FLUSH_TIME, serving) => match served {
            Ok(served) => served.context(failed)?,
            Err(_) => tracing::warn!("cancelled calls that were still running"),
        },
        () = signals.stopped() => return Ok(ExitCode::FAILURE),
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve_http(
    server: Arc<Server>,
    listener: http::Listener,
    mut signals: Signals,
    calls: &RunningCalls,
) -> Result<ExitCode, CommandError> {
    let (stop, stopped) = (CancellationToken::new(), OnceLock::new());
    let routes = http::ServerRoutes::new(Arc::clone(&server));
    let mut serving = pin!(async {
        let serving = http::serve(listener, routes, server.settings(), stop.clone());
        tokio::join!(serving, server.run_housekeeping());
        // Calls that outlive their connections have what is left of the time.
        let left = calls.shutdown.saturating_sub(stopped.get().map_or(Duration::ZERO, Instant::elapsed));
        if tokio::time::timeout(left, server.finish()).await.is_err() {
            tracing::warn!("cancelled calls that were still running");
        }
    });
    tokio::select! {
        () = serving.as_mut() => return Ok(ExitCode::SUCCESS),
        () = signals.stopped() => {
            calls.report_stopping();
            stopped.get_or_init(Instant::now);
            server.stop();
            stop.cancel();
        }
    }
    // Draining takes a while; a second signal stops at once.
    tokio::select! {
        () = serving => Ok(ExitCode::SUCCESS),
        () = signals.stopped() => Ok(ExitCode::FAILURE),
    }
}

/// The running calls, which are counted when the server stops.
struct RunningCalls {
    catalog: Arc<Catalog>,
    /// How long they may then go on.
    shutdown: Duration,
}

impl RunningCalls {
    fn report_stopping(&self) {
        let running: u64 = self.catalog.current().entries().iter().map(|entry| entry.plugin.running()).sum();
        let ends = match running {
            0 => "stopping".to_owned(),
            1 => format!("stopping; 1 call has {} s to end", self.shutdown.as_secs()),
            _ => format!("stopping; {running} calls have {} s to end", self.shutdown.as_secs()),
        };
        console::eprint(&format!("{ends}; to stop at once, ask again"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_that_hangs_holds_up_no_client() {
        let (hang, hung) = std::sync::mpsc::channel::<()>();
        let begun = Instant::now();
        let scanned = check_plugin_folder(move || {
            let _ = hung.recv();
            Ok(())
        });
        assert!(scanned.await.is_ok());
        assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
        drop(hang);
    }
}
