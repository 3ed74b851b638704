//! `plugport serve`: load the folder, say what is published and how to connect, serve until told to stop.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::call::stem;
use super::capabilities::granted;
use super::published::Published;
use super::standing::Stand;
use super::{Failure, console};
use crate::catalog::{Catalog, Entry, Refused, Snapshot};
use crate::cli;
use crate::config::{AuditConfig, Config, ConfigError, Pin, parse_listen};
use crate::observe::{Audit, AuditWriter as Writer, Escaped};
use crate::plugin::Loader;
use crate::protocol::Server;
use crate::reload::{Event, Folder, Found, Skipped, Stamp, Standing, Watcher, load_folder};
use crate::sandbox::{Cache, Compiler, Store};
use crate::transport::{http, stdio};

/// What calls that outlive their connections have left when the server stops.
const DRAIN: Duration = Duration::from_secs(5);

/// Files that cannot be served and are named one by one.
const MOST_SKIPPED: usize = 50;

pub(super) async fn run(args: cli::Serve) -> Result<ExitCode, Failure> {
    let mut config = args.source.configuration()?;
    if let Some(address) = &args.listen {
        config.server.listen =
            parse_listen(address).map_err(|why| ConfigError::Argument(format!("--listen: {why}")))?;
    }
    allow_open_files();
    let mut signals = Signals::listen()?;
    // Dropped at the very end, when everything that is noted has been.
    let (audit, _writer) = open_audit(&config)?;
    let Prepared { server, watcher, folder, known, catalog, standing } = tokio::select! {
        prepared = prepare(&config, audit) => prepared?,
        () = signals.stopped() => return Ok(ExitCode::SUCCESS),
    };
    let pin = config.server.pin;
    let pin = pin.unwrap_or_else(|| Pin::usual((!args.stdio).then_some(config.server.listen)));
    let stand = Stand::new(&config, pin, catalog, standing);
    let stop = CancellationToken::new();
    let watching = tokio::spawn(watcher.run(stop.clone()));
    let following = tokio::spawn(folder.run(known, stop.clone()));
    let served = if args.stdio {
        serve_stdio(server, stand, signals).await
    } else {
        serve_http(server, stand, &config, args.source.file().as_deref(), signals).await
    };
    stop.cancel();
    watching.await.context("watching for changes failed")?;
    following.await.context("following the plugin folder failed")?;
    served
}

/// Lets this process open as many files as the system permits: every connection is one, and every file of a guest.
fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    if let Err(error) = raised {
        tracing::debug!("the limit on open files stays as it is: {error}");
    }
}

async fn serve_stdio(server: Arc<Server>, stand: Stand, mut signals: Signals) -> Result<ExitCode, Failure> {
    let telling = stand.tell("stdio".to_owned()).await;
    console::remark("serving MCP on stdin and stdout");
    let served = until_stopped(server, &mut signals).await;
    telling.end().await;
    served
}

async fn until_stopped(server: Arc<Server>, signals: &mut Signals) -> Result<ExitCode, Failure> {
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
        () = signals.stopped() => {}
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve_http(
    server: Arc<Server>,
    stand: Stand,
    config: &Config,
    file: Option<&Path>,
    mut signals: Signals,
) -> Result<ExitCode, Failure> {
    let wanted = config.server.listen;
    let listener = http::Listener::bind(wanted).await.with_context(|| {
        format!("cannot listen on {wanted}; stop what uses it, or choose another address with --listen")
    })?;
    let telling = stand.tell(format!("http://{}{}", listener.address, http::PATH)).await;
    welcome(&listener, config, file);
    let stop = CancellationToken::new();
    let router = http::router(Arc::clone(&server));
    let mut serving = pin!(async {
        let serving = http::serve(listener, router, &config.server, stop.clone());
        tokio::join!(serving, server.keep());
        if tokio::time::timeout(DRAIN, server.finish()).await.is_err() {
            tracing::warn!("stopped calls that were still under way");
        }
    });
    let mut code = ExitCode::SUCCESS;
    tokio::select! {
        () = serving.as_mut() => {}
        () = signals.stopped() => {
            server.stop();
            stop.cancel();
            // Draining takes a while; whoever asks twice means it.
            tokio::select! {
                () = serving => {}
                () = signals.stopped() => code = ExitCode::FAILURE,
            }
        }
    }
    telling.end().await;
    Ok(code)
}

/// Ctrl-C and termination. Made before anything is served, so that none is missed.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    async fn stopped(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Begins the audit. One that the operator asked for must be had; the usual one is done without when its folder cannot be
/// written, since editors start servers anywhere.
fn open_audit(config: &Config) -> Result<(Audit, Option<Writer>), Failure> {
    let AuditConfig { enabled, file, mib, kept, arguments } = &config.audit;
    if !enabled {
        return Ok((Audit::none(), None));
    }
    let path = file.clone().unwrap_or_else(|| config.state.join(AuditConfig::FILE));
    let kept = u32::try_from(*kept).unwrap_or(u32::MAX);
    match Audit::open(path.clone(), mib << 20, kept) {
        Ok((audit, writer)) => Ok((audit.with_arguments(*arguments), Some(writer))),
        Err(error) if file.is_none() => {
            let path = path.display();
            console::remark(&format!(
                "nothing is noted in an audit, since {path} cannot be written ({error}); name a file with `file` under [audit]"
            ));
            Ok((Audit::none(), None))
        }
        Err(error) => {
            let why = format!("cannot write the audit {}; name another `file` under [audit]", path.display());
            Err(Failure::Usage(anyhow::Error::new(error).context(why)))
        }
    }
}

/// What is served, and what keeps it up to date.
struct Prepared {
    server: Arc<Server>,
    watcher: Watcher,
    folder: Folder,
    known: BTreeMap<PathBuf, Stamp>,
    catalog: Arc<Catalog>,
    standing: Arc<Standing>,
}

async fn prepare(config: &Config, audit: Audit) -> Result<Prepared, Failure> {
    let store = Store::new(config.state.clone());
    if config.plugins.values().any(|plugin| plugin.grants.kv_mib.is_some()) {
        // Better now than in the middle of a call. Editors start one server each, so another may well have it.
        if let Err(error) = store.open() {
            console::remark(&format!("plugins cannot keep anything for now: {error}"));
        }
    }
    let loader = Loader::new(&config.server, store, audit, compiler(config)).context("cannot start")?;
    let Found { snapshot, skipped, known } =
        load_folder(&loader, config).await.map_err(|error| Failure::Usage(error.into()))?;
    announce(&snapshot, config);
    let standing = Arc::new(Standing::new(config.server.plugins));
    for file in &skipped {
        standing.refused(&file.path, Some(&stem(&file.path)), &file.why, false, None);
    }
    skipped.iter().take(MOST_SKIPPED).for_each(announce_skipped);
    if let Some(more) = skipped.len().checked_sub(MOST_SKIPPED).filter(|more| *more > 0) {
        console::remark(&format!("skipped {more} more; the audit has a line for each"));
    }
    let catalog = Arc::new(Catalog::new(snapshot));
    let watcher = Watcher::new(Arc::clone(loader.changes()), Arc::clone(&catalog));
    let say = Box::new(announce_event);
    let folder = Folder::new(Arc::new(loader), Arc::new(config.clone()), Arc::clone(&catalog), say);
    let server = Arc::new(Server::new(Arc::clone(&catalog), config.server.clone()));
    Ok(Prepared { server, watcher, folder, known, catalog, standing })
}

/// Compiles outside, and keeps what it compiled where that can be done.
fn compiler(config: &Config) -> Compiler {
    let cache = Cache::open(&config.state, config.server.compiled_cache_mib).unwrap_or_else(|error| {
        let why = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        console::remark(&format!("{error}: {why}; every start compiles anew"));
        None
    });
    Compiler::outside().keeping(cache)
}

fn announce(snapshot: &Snapshot, config: &Config) {
    for entry in snapshot.entries() {
        announce_entry(snapshot, entry);
    }
    config.remarks().iter().for_each(|remark| console::remark(remark));
    for name in config.plugins.keys() {
        if snapshot.entry(name).is_none() {
            let folder = config.folder.display();
            console::remark(&format!(
                "the configuration names a plugin `{name}`, but {folder} has no usable {name}.wasm"
            ));
        }
    }
    let folder = config.folder.display();
    if snapshot.is_empty() {
        console::remark(&format!("no tools are published; put compiled plugins into {folder}"));
    }
}

fn announce_skipped(file: &Skipped) {
    let path = file.path.display().to_string();
    console::remark(&format!("skipped {}: {}", Escaped(&path), Escaped(&file.why)));
}

/// Tells what happened in the folder while it was served.
fn announce_event(event: Event<'_>) {
    match event {
        Event::Published(snapshot, entry) => announce_entry(snapshot, entry),
        Event::Refused(file) => announce_skipped(file),
        Event::Removed(plugin) => console::remark(&format!("removed {plugin}: its file is gone")),
        Event::Unreadable(error) => {
            console::remark(&format!("{error}; what was published stays"));
        }
    }
}

fn announce_entry(snapshot: &Snapshot, entry: &Entry) {
    let name = entry.plugin.name();
    let grants = &entry.plugin.config().grants;
    // A plugin that can read secrets may have put one anywhere.
    let say = |text: String| console::remark(&entry.plugin.mask().text(&text));
    say(format!("published {name}: {}", Published::of(snapshot, name).in_words()));
    for (_, may) in granted(grants) {
        say(format!("  may {may}"));
    }
    for remark in grants.remarks() {
        say(format!("  {remark}"));
    }
    for Refused { name, why, .. } in snapshot.refused(entry) {
        say(format!("  not published: {}: {}", Escaped(name), Escaped(why)));
    }
}

fn welcome(listener: &http::Listener, config: &Config, file: Option<&Path>) {
    let address = listener.address;
    let program =
        std::env::current_exe().map_or_else(|_| "plugport".into(), |path| path.display().to_string());
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string();
    let mut args =
        vec!["serve".to_owned(), "--stdio".to_owned(), "--plugins".to_owned(), whole(&config.folder)];
    args.extend(file.into_iter().flat_map(|file| ["--config".to_owned(), whole(file)]));
    let snippet = serde_json::json!({ "mcpServers": { "plugport": { "command": program, "args": args } } });
    console::remark(&format!("\nserving MCP at http://{address}{}", http::PATH));
    console::remark("  clients that speak HTTP: give them this URL");
    console::remark("  Claude Desktop and editors that start servers themselves: add to their configuration");
    console::remark(&format!("  {snippet}"));
    if !address.ip().is_loopback() {
        console::remark(
            "  warning: this address can be reached from other machines, and callers are not authenticated",
        );
    }
}
