//! Shared parts of the benchmarks: rows, the published guest, and one file per kind of measurement.

pub mod connection;
pub mod http;
pub mod in_process;
pub mod memory;
pub mod raw_wasmtime;
pub mod server;
pub mod svg;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use plugport::access::Authenticator;
use plugport::access::policy::Policy;
use plugport::call_env::{Caller, NoClient};
use plugport::catalog::{Catalog, PluginEntry, Snapshot};
use plugport::config::{Config, PluginConfig, ServerConfig};
use plugport::mcp::Server;
use plugport::observe::Audit;
use plugport::plugin::{ComponentFile, Loader, Plugin};
use plugport::sandbox::{CodeCache, Compiler, KvDatabase};
use plugport::transport::http::router;

use in_process::BenchFn;

pub const GUEST: &str = "polite.wasm";
pub const ARGS: &str = r#"{"message":"0123456789abcdef"}"#;

/// The file of the guest. `cargo measure BENCHMARK` builds it.
pub fn guest_file(benchmark: &str) -> PathBuf {
    let file = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/guests")).join(GUEST);
    assert!(
        file.is_file(),
        "{} is missing; run `cargo measure {benchmark}`, which builds it",
        file.display()
    );
    file
}

/// What stands behind a figure: its aim and whether that holds; nothing without an aim.
pub fn verdict(figure: f64, aim: Option<f64>) -> String {
    let word = |aim| if figure <= aim { "holds" } else { "missed" };
    aim.map(|aim| format!("{aim:>9.2}  {}", word(aim))).unwrap_or_default()
}

/// A quantile of figures, such as their median with a `part` of 0.5.
pub fn quantile(mut figures: Vec<f64>, part: f64) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[((figures.len() as f64 * part) as usize).min(figures.len() - 1)]
}

/// One line of the table.
pub struct Row {
    pub name: String,
    pub per_second: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub cpu_us: f64,
}

impl Row {
    pub const HEAD: &'static str =
        "                                                  per second   p50 µs   p99 µs   CPU µs";

    pub fn new(name: &str, mut latencies: Vec<f64>, elapsed: f64, cpu: f64) -> Self {
        latencies.sort_by(f64::total_cmp);
        let count = latencies.len();
        let at = |part: f64| latencies[((count as f64 * part) as usize).min(count - 1)];
        Self {
            name: name.to_owned(),
            per_second: count as f64 / elapsed,
            p50_us: at(0.5),
            p99_us: at(0.99),
            cpu_us: cpu * 1e6 / count as f64,
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, per_second, p50_us, p99_us, cpu_us } = self;
        write!(f, "{name:<48}{per_second:>12.0}{p50_us:>9.1}{p99_us:>9.1}{cpu_us:>9.1}")
    }
}

/// Rates are not measured, so they are unlimited.
pub const UNBOUNDED: u64 = 1_000_000_000;

/// A loader for guests, with an audit like that of a server.
pub fn loader() -> Loader {
    let server =
        ServerConfig { suspended_calls: 0, caller_calls_per_second: UNBOUNDED, ..ServerConfig::default() };
    let file =
        std::env::temp_dir().join(format!("plugport-bench-{}", std::process::id())).join("audit.jsonl");
    let (audit, writer) = Audit::open(file, 64 << 20, 1).unwrap();
    // The writer is needed until the process ends.
    std::mem::forget(writer);
    Loader::new(&server, KvDatabase::new("unused".into()), audit, Compiler::in_process()).unwrap()
}

/// A loader with this compiler, without an audit.
pub fn loader_with(compiler: Compiler) -> Loader {
    let server = ServerConfig { suspended_calls: 0, ..ServerConfig::default() };
    Loader::new(&server, KvDatabase::new("unused".into()), Audit::disabled(), compiler).unwrap()
}

/// A guest with other limits than usual.
pub async fn entry(loader: &Loader, guest: &Path, limits: &[(&str, u64)]) -> PluginEntry {
    let set = |settings: &mut PluginConfig| {
        limits.iter().for_each(|(name, value)| settings.limits.set(name, *value).unwrap());
    };
    entry_with(loader, guest, set).await
}

/// A guest whose settings are changed.
pub async fn entry_with(
    loader: &Loader,
    guest: &Path,
    change: impl FnOnce(&mut PluginConfig),
) -> PluginEntry {
    let config = Config::new(guest.parent().unwrap().to_owned());
    let name = guest.file_stem().unwrap().to_str().unwrap();
    let mut settings = config.plugin(name);
    settings.limits.set("tool_calls_per_second", UNBOUNDED).unwrap();
    change(&mut settings);
    let artifact = ComponentFile::read(guest, settings.limits.wasm_mib).unwrap();
    PluginEntry::validate(loader.load(name, artifact, settings).await.unwrap())
}

/// A server of one guest, with the credentials and roles of this configuration, which is written to `folder`.
pub async fn server_with_access(guest: &Path, folder: &Path, config: &str) -> Server {
    let file = folder.join("plugport.toml");
    std::fs::write(&file, config).unwrap();
    let config = Config::read(&file, folder.to_owned()).unwrap();
    let catalog = Arc::new(Catalog::new(Snapshot::new(vec![entry(&loader(), guest, &[]).await])));
    catalog.set_policy(Arc::new(Policy::new(&config.roles)));
    let authenticator = Arc::new(Authenticator::new(config.auth.as_ref(), Audit::disabled()));
    Server::new(catalog, ServerConfig::default()).with_authenticator(authenticator)
}

/// One plugin under many names, compiled once. `folder` is for its code.
pub async fn copies(guest: &Path, folder: &Path, config: &Config, count: usize) -> Vec<PluginEntry> {
    let cache = CodeCache::open(folder, 512).unwrap();
    let compiler = Compiler::in_process().with_caches(cache);
    let store = KvDatabase::new(folder.join("unused"));
    let loader = Loader::new(&ServerConfig::default(), store, Audit::disabled(), compiler).unwrap();
    let mut entries = Vec::new();
    for number in 0..count {
        let name = format!("p{number}");
        let settings = config.plugin(&name);
        let artifact = ComponentFile::read(guest, settings.limits.wasm_mib).unwrap();
        entries.push(PluginEntry::validate(loader.load(&name, artifact, settings).await.unwrap()));
    }
    entries
}

/// A plugin, called without a transport.
pub struct Published(Arc<Plugin>);

pub async fn published(guest: &Path) -> Published {
    Published(entry(&loader(), guest, &[]).await.plugin)
}

impl BenchFn for Published {
    async fn once(&mut self) {
        self.0.call_tool("echo", ARGS, Arc::new(NoClient(Caller::CommandLine))).await.outcome.unwrap();
    }
}

/// The real routes for the guest. Made on the server's own thread.
pub fn plugin_router(guest: &Path) -> impl AsyncFnOnce() -> Router + Send + 'static + use<> {
    let guest = guest.to_owned();
    async move || {
        let catalog = Catalog::new(Snapshot::new(vec![entry(&loader(), &guest, &[]).await]));
        router(Arc::new(Server::new(Arc::new(catalog), ServerConfig::default())))
    }
}
