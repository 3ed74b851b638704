//! Prepares what the server needs before it serves: the state folder, the audit, the compiler and the folder watcher.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Context as _;
use tokio::task::JoinSet;

use super::event_printer::EventPrinter;
use super::server_metrics::ServerMetrics;
use super::{CommandError, console};
use crate::access::policy::Policy;
use crate::access::{Authenticator, Quotas};
use crate::catalog::Catalog;
use crate::cli;
use crate::config::{self, AuditConfig, Config, OtlpConfig, RequiredScopes, user_cache_dir};
use crate::mcp::Server;
use crate::observe::trace::{OtlpTarget, TraceExporter, Tracer};
use crate::observe::{Audit, AuditWriter, Escaped};
use crate::plugin::Loader;
use crate::sandbox::{CodeCache, CompileEffort, Compiler, KvDatabase};
use crate::watch::{FolderEvent, FolderWatcher, ListRefresher, LoadPolicy, LoadStatus};

/// Opens the audit. A configured file that cannot be written is an error. If the default file cannot be written, there
/// is no audit, since editors start servers anywhere.
pub(super) fn open_audit(config: &Config) -> Result<(Audit, Option<AuditWriter>), CommandError> {
    let AuditConfig { enabled, file, max_mib, rotated_files, arguments } = &config.audit;
    if !enabled {
        return Ok((Audit::disabled(), None));
    }
    let Some(path) = config.audit_file() else {
        console::eprint(
            "there is no audit and no key-value store, since there is no folder of yours for that; set HOME or \
             XDG_STATE_HOME, or name one with `state_dir` under [server]",
        );
        return Ok((Audit::disabled(), None));
    };
    let rotated_files = u32::try_from(*rotated_files).unwrap_or(u32::MAX);
    match Audit::open(path.clone(), max_mib << 20, rotated_files) {
        Ok((audit, writer)) => Ok((audit.with_arguments(*arguments), Some(writer))),
        Err(error) if file.is_none() => {
            let path = path.display();
            console::eprint(&format!(
                "there is no audit, since {path} cannot be written ({error}); name a file with `file` under [audit]"
            ));
            Ok((Audit::disabled(), None))
        }
        Err(error) => {
            let why = format!("cannot write the audit {}; name another `file` under [audit]", path.display());
            Err(CommandError::Usage(anyhow::Error::new(error).context(why)))
        }
    }
}

/// The parts of a server.
pub(super) struct ServerParts {
    pub(super) server: Arc<Server>,
    pub(super) refresher: ListRefresher,
    pub(super) folder: FolderWatcher,
    pub(super) catalog: Arc<Catalog>,
    pub(super) load_status: Arc<LoadStatus>,
    /// Sends the spans of requests; `None`: there are no traces.
    pub(super) exporter: Option<TraceExporter>,
    /// What `/metrics` says, without the connections of clients.
    pub(super) metrics: ServerMetrics,
    /// Opens the key-value store in advance and reports failures; serving does not wait for it.
    pub(super) opening: JoinSet<()>,
}

/// Prepares everything. Plugins are loaded while the server serves. `settings` are those of the configuration with the
/// options of the command line.
pub(super) fn prepare(
    args: &cli::Serve,
    config: Config,
    settings: config::ServerConfig,
    listening: Option<SocketAddr>,
    audit: Audit,
) -> Result<ServerParts, CommandError> {
    let store = KvDatabase::of_state(config.state_dir.clone());
    let mut opening = JoinSet::new();
    if config.plugins.values().any(|plugin| plugin.grants.keyvalue.is_some()) {
        // Opened now instead of in the middle of a call. On another thread: another server may hold the store for a
        // moment, or the disk may be slow.
        let store = Arc::clone(&store);
        opening.spawn_blocking(move || {
            if let Err(error) = store.open() {
                let error = anyhow::Error::new(error);
                console::eprint(&format!("plugins cannot store anything for now: {error:#}"));
            }
        });
    }
    let (tracer, exporter) = tracer(config.telemetry.otlp.as_ref())?;
    let authenticator = Arc::new(Authenticator::new(config.auth.as_ref(), audit.clone()));
    let effort = if args.dev_quick { CompileEffort::Quick } else { CompileEffort::Full };
    let settings = effort.settings(settings);
    let compiler = compiler(&config).with_effort(effort);
    let loader =
        Loader::new(&settings, Arc::clone(&store), audit.clone(), compiler).context("cannot start")?;
    let (call_totals, guest_memory) = (Arc::clone(loader.call_totals()), Arc::clone(loader.guest_memory()));
    let has_metrics = config.telemetry.listen.is_some();
    config.warnings().iter().for_each(|warning| console::eprint(warning));
    warn_legacy_state(&config);
    let catalog = Arc::new(Catalog::empty());
    let printer = EventPrinter::new(&config);
    let quotas = Arc::new(Quotas::new(config.state_dir.clone()));
    open_quotas(&quotas, &config);
    catalog.set_policy(policy(&config));
    let reconfigured = (Arc::clone(&authenticator), Arc::clone(&catalog), Arc::clone(&quotas));
    let events = Box::new(move |event: FolderEvent<'_>| {
        if let FolderEvent::Reconfigured { config, .. } = &event {
            let (authenticator, catalog, quotas) = &reconfigured;
            open_quotas(quotas, config);
            apply_access(config, authenticator, catalog);
        }
        printer.print(&event);
    });
    let policy =
        LoadPolicy::read(Arc::new(config), listening).map_err(|error| CommandError::Usage(error.into()))?;
    let policy = policy.with_dev_sources(args.dev_sources.clone());
    let load_status = Arc::new(LoadStatus::new(settings.max_plugins, policy.approval.mode()));
    let folder = FolderWatcher::new(
        Arc::new(loader),
        policy,
        args.source.config_file(),
        Arc::clone(&catalog),
        Arc::clone(&load_status),
        events,
    );
    let refresher = folder.list_refresher();
    let server =
        Server::new(Arc::clone(&catalog), settings).with_authenticator(authenticator).with_quotas(quotas);
    let server = server.with_tracer(tracer).with_tasks(store);
    let server = Arc::new(if has_metrics { server.with_metrics() } else { server });
    let metrics = ServerMetrics {
        started: SystemTime::now(),
        server: Arc::clone(&server),
        catalog: Arc::clone(&catalog),
        load_status: Arc::clone(&load_status),
        call_totals,
        guest_memory,
        audit,
        spans: exporter.as_ref().map(TraceExporter::counts),
        connections: None,
    };
    Ok(ServerParts { server, refresher, folder, catalog, load_status, exporter, metrics, opening })
}

/// What records requests, and what sends the spans to the collector, if one is configured.
fn tracer(otlp: Option<&OtlpConfig>) -> Result<(Tracer, Option<TraceExporter>), CommandError> {
    let Some(OtlpConfig { endpoint, headers, traces_per_second }) = otlp else {
        return Ok((Tracer::default(), None));
    };
    let headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, secret)| (name.as_str(), secret.expose_secret())).collect();
    let place = (endpoint.host(), endpoint.port(), endpoint.is_tls());
    let target = OtlpTarget::new(place, &endpoint.authority(), endpoint.traces_path(), &headers)
        .map_err(|error| CommandError::Usage(error.into()))?;
    let (tracer, spans) = Tracer::new(*traces_per_second);
    Ok((tracer, Some(TraceExporter::new(spans, target))))
}

/// Reads what callers have used of their quotas, before a role with a quota holds.
fn open_quotas(quotas: &Quotas, config: &Config) {
    if config.roles.has_quotas() {
        quotas.open();
    }
}

/// Applies a changed configuration to who may call what. A file that lost `[auth]` or all roles, such as one that an
/// editor has just emptied, does not open a server to everybody: that takes a restart.
fn apply_access(config: &Config, authenticator: &Authenticator, catalog: &Catalog) {
    let loses_auth = config.auth.is_none() && authenticator.is_configured();
    let loses_roles = config.roles.is_empty() && catalog.has_roles();
    if loses_auth {
        console::eprint("  there is no [auth] any more; the former [auth] and [roles] hold until a restart");
        return;
    }
    authenticator.replace(config.auth.as_ref());
    if loses_roles {
        console::eprint("  there are no [roles] any more; the former roles and scopes hold until a restart");
        return;
    }
    catalog.set_policy(policy(config));
}

/// The policy of a configuration: its roles, and the scopes that plugins need.
pub(in crate::commands) fn policy(config: &Config) -> Arc<Policy> {
    let scopes = config.plugins.iter().map(|(name, plugin)| (name.clone(), plugin.scopes.clone()));
    let scopes = scopes.filter(|(_, scopes)| *scopes != RequiredScopes::default());
    Arc::new(Policy::new(&config.roles).with_scopes(scopes.collect()))
}

/// Warns about data of an earlier version in a folder that is no longer used.
fn warn_legacy_state(config: &Config) {
    let Some(former) = config.legacy_state_dir() else { return };
    let former = std::path::absolute(&former).unwrap_or(former).display().to_string();
    let file = match &config.file {
        Some(file) => file.display().to_string(),
        None => "a plugport.toml beside it".to_owned(),
    };
    console::eprint(&format!(
        "the data of an earlier version in {} is not used; to go on with it, write `state_dir = \"plugport-state\"` \
         under [server] of {}, and else remove it",
        Escaped(&former),
        Escaped(&file)
    ));
}

/// A compiler in a child process, with the first of these caches that there is: `compiled_cache_dir`, the one in a
/// configured `state_dir`, the per-user cache.
fn compiler(config: &Config) -> Compiler {
    let (mib, folder) = (config.server.compiled_cache_mib, user_cache_dir());
    let state = config.server.state_dir.as_ref().and(config.state_dir.as_ref());
    let opened = match (&config.compiled_cache_dir, state, &folder) {
        (Some(named), _, _) => CodeCache::own(named, mib),
        (_, Some(state), _) => CodeCache::open(state, mib),
        (_, _, Some(folder)) => CodeCache::own(folder, mib),
        (_, _, None) if mib == 0 => Ok(None),
        (_, _, None) => {
            console::eprint(
                "there is no code cache, so every start compiles again; set HOME or XDG_CACHE_HOME, \
                 or name a folder with `state_dir` under [server]",
            );
            Ok(None)
        }
    };
    let cache = opened.unwrap_or_else(|error| {
        let why = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        console::eprint(&format!("{error}: {why}; every start compiles again"));
        None
    });
    Compiler::in_child_process().with_caches(cache)
}
