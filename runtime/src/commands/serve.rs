//! `plugport serve`: load the folder, say what is published and how to connect, serve until told to stop.

use std::path::Path;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{Failure, console};
use crate::catalog::{Catalog, Entry, Item, List, Snapshot};
use crate::cli;
use crate::config::{Config, ConfigError, Grants, parse_listen};
use crate::observe::{Audit, Escaped};
use crate::plugin::Loader;
use crate::protocol::Server;
use crate::reload::{Watcher, load_folder};
use crate::sandbox::Store;
use crate::transport::{http, stdio};

/// What calls that outlive their connections have left when the server stops.
const DRAIN: Duration = Duration::from_secs(5);

/// Items of one kind that the announcement of a plugin names.
const MOST_NAMED: usize = 20;

pub(super) async fn run(args: cli::Serve) -> Result<ExitCode, Failure> {
    let mut config = args.source.configuration()?;
    if let Some(address) = &args.listen {
        config.server.listen =
            parse_listen(address).map_err(|why| ConfigError::Argument(format!("--listen: {why}")))?;
    }
    let mut signals = Signals::listen()?;
    let (server, watcher) = tokio::select! {
        prepared = prepare(&config) => prepared?,
        () = signals.stopped() => return Ok(ExitCode::SUCCESS),
    };
    let stop = CancellationToken::new();
    let watching = tokio::spawn(watcher.run(stop.clone()));
    let served = if args.stdio {
        serve_stdio(server, signals).await
    } else {
        serve_http(server, &config, args.source.file().as_deref(), signals).await
    };
    stop.cancel();
    watching.await.context("watching for changes failed")?;
    served
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
        () = signals.stopped() => {}
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve_http(
    server: Arc<Server>,
    config: &Config,
    file: Option<&Path>,
    mut signals: Signals,
) -> Result<ExitCode, Failure> {
    let wanted = config.server.listen;
    let listener = http::Listener::bind(wanted).await.with_context(|| {
        format!("cannot listen on {wanted}; stop what uses it, or choose another address with --listen")
    })?;
    welcome(&listener, config, file);
    let stop = CancellationToken::new();
    let router = http::router(Arc::clone(&server));
    let mut serving = pin!(async {
        let serving = http::serve(listener, router, config.server.connections, stop.clone());
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

async fn prepare(config: &Config) -> Result<(Arc<Server>, Watcher), Failure> {
    let store = Store::new(config.state.clone());
    if config.plugins.values().any(|plugin| plugin.grants.kv_mib.is_some()) {
        // Better now than in the middle of a call. Editors start one server each, so another may well have it.
        if let Err(error) = store.open() {
            console::remark(&format!("plugins cannot keep anything for now: {error}"));
        }
    }
    let loader =
        Loader::new(config.server.concurrent_calls, config.server.parked_calls, store, Audit::none())
            .context("cannot start")?;
    let (snapshot, skipped) =
        load_folder(&loader, config).await.map_err(|error| Failure::Usage(error.into()))?;
    announce(&snapshot, config);
    for file in &skipped {
        let path = file.path.display().to_string();
        console::remark(&format!("skipped {}: {}", Escaped(&path), Escaped(&file.why)));
    }
    let catalog = Arc::new(Catalog::new(snapshot));
    let watcher = Watcher::new(Arc::clone(loader.changes()), Arc::clone(&catalog));
    Ok((Arc::new(Server::new(catalog, config.server.clone())), watcher))
}

fn announce(snapshot: &Snapshot, config: &Config) {
    for entry in snapshot.entries() {
        announce_entry(snapshot, entry);
    }
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

fn announce_entry(snapshot: &Snapshot, entry: &Entry) {
    let name = entry.plugin.name();
    let parts = [
        ("", keys(snapshot.tools(), name)),
        ("resources ", keys(snapshot.resources(), name)),
        ("templates ", keys(snapshot.templates(), name)),
        ("prompts ", keys(snapshot.prompts(), name)),
    ];
    let named: Vec<String> = parts
        .into_iter()
        .filter(|(_, keys)| !keys.is_empty())
        .map(|(kind, keys)| format!("{kind}{}", keys.join(", ")))
        .collect();
    console::remark(&format!("published {name}: {}", named.join("; ")));
    for grant in &entry.plugin.config().grants.dirs {
        let mode = if grant.write { "read and write" } else { "read" };
        console::remark(&format!("  may {mode} {} as {}", grant.host.display(), grant.guest));
    }
    for grant in granted(&entry.plugin.config().grants) {
        console::remark(&format!("  may {grant}"));
    }
    for refused in snapshot.refused(entry) {
        console::remark(&format!("  not published: {}: {}", Escaped(&refused.name), Escaped(&refused.why)));
    }
}

/// The first of what a plugin has in a list, since a plugin may list a great many.
fn keys<T: Item>(list: &List<T>, plugin: &str) -> Vec<String> {
    let own = || list.items().iter().filter(|item| item.owner() == plugin);
    let mut keys: Vec<String> = own().take(MOST_NAMED).map(|item| item.key().to_owned()).collect();
    let more = own().count().saturating_sub(MOST_NAMED);
    if more > 0 {
        keys.push(format!("{more} more"));
    }
    keys
}

/// What else a plugin may do, in words.
fn granted(grants: &Grants) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(grants.http.iter().map(|grant| format!("send requests: {grant}")));
    words.extend(grants.kv_mib.map(|mib| format!("keep up to {mib} MiB between calls")));
    for (granted, what) in [
        (grants.sampling, "ask the client's model"),
        (grants.elicitation, "ask the person at the client"),
        (grants.roots, "see which folders the client's user works in"),
    ] {
        words.extend(granted.then(|| what.to_owned()));
    }
    words
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
