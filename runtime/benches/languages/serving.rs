//! A component as the server runs it: compiled once, instantiated, and called with a fresh or a pooled instance.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use plugport::catalog::PluginEntry;
use plugport::config::{Config, PluginConfig, ServerConfig};
use plugport::host::{Caller, Client, ClientInfo, ClientRequest, ClientResponses, LogLevel, NoClient};
use plugport::observe::Audit;
use plugport::plugin::{ComponentFile, Loader, Plugin};
use plugport::sandbox::{Compiler, KvDatabase};

use super::support::in_process::{BenchFn, measure_in_process, runtime};
use super::support::loader;

const TIME: Duration = Duration::from_secs(4);
const ARGS: &str = r#"{"name":"Ada"}"#;

/// How often calls may be made is not what is measured.
const UNBOUNDED: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy)]
pub enum Instances {
    Fresh,
    Reused,
}

impl Instances {
    fn config(self) -> &'static str {
        match self {
            Self::Fresh => "[limits]\nwasm_mib = 256\nmemory_mib = 256\n",
            Self::Reused => {
                "[limits]\nwasm_mib = 256\nmemory_mib = 256\n[plugins.hello]\ninstances = \"reuse\"\n"
            }
        }
    }

    /// What the operator of such a plugin would have written.
    fn settings(self) -> Result<PluginConfig, String> {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("plugport.toml");
        std::fs::write(&file, self.config()).unwrap();
        let config = Config::read(&file, place.path().to_owned()).map_err(|error| format!("{error:?}"))?;
        let mut settings = config.plugin("hello");
        settings.limits.set("tool_calls_per_second", UNBOUNDED).unwrap();
        Ok(settings)
    }
}

/// Where the memory of instances comes from.
#[derive(Debug, Clone, Copy)]
pub enum Memory {
    /// The server's own pool.
    Pooled,
    /// The system, for each instance.
    Unpooled,
}

impl Memory {
    fn loader(self) -> Loader {
        match self {
            Self::Pooled => loader(),
            Self::Unpooled => {
                let server = ServerConfig { suspended_calls: 0, ..ServerConfig::default() };
                let store = KvDatabase::new("unused".into());
                Loader::without_pooling_allocator(&server, store, Audit::disabled(), Compiler::in_process())
                    .unwrap()
            }
        }
    }
}

/// Seconds from the bytes of the file to a plugin that has said what it lists, compiled in a process of its own.
pub fn compile_seconds(component: &Path) -> Result<f64, String> {
    runtime().block_on(async {
        let outside = Compiler::with_program(env!("CARGO_BIN_EXE_plugport").into());
        let server = ServerConfig { suspended_calls: 0, ..ServerConfig::default() };
        let loader =
            Loader::new(&server, KvDatabase::new("unused".into()), Audit::disabled(), outside).unwrap();
        let start = Instant::now();
        load(&loader, component, Instances::Fresh.settings()?).await?;
        Ok(start.elapsed().as_secs_f64())
    })
}

/// The median of a call, with all that comes before and after it.
pub fn call_us(component: &Path, instances: Instances) -> Result<f64, String> {
    let settings = instances.settings()?;
    let name = format!("{instances:?}");
    let row = measure_in_process(&name, TIME, async || {
        let loader = loader();
        let plugin = load(&loader, component, settings).await.unwrap_or_else(|why| panic!("{why}"));
        Hello { plugin, _loader: loader }
    });
    Ok(row.p50_us)
}

/// The median of making an instance and dropping it, with no call in it.
pub fn instance_us(component: &Path, memory: Memory) -> Result<f64, String> {
    let settings = Instances::Fresh.settings()?;
    let name = format!("{memory:?}");
    let row = measure_in_process(&name, TIME, async || {
        let loader = memory.loader();
        let plugin = load(&loader, component, settings).await.unwrap_or_else(|why| panic!("{why}"));
        Idle { plugin, _loader: loader }
    });
    Ok(row.p50_us)
}

async fn load(loader: &Loader, component: &Path, settings: PluginConfig) -> Result<Arc<Plugin>, String> {
    let artifact =
        ComponentFile::read(component, settings.limits.wasm_mib).map_err(|error| error.to_string())?;
    let loaded = loader.load("hello", artifact, settings).await;
    Ok(PluginEntry::validate(loaded.map_err(|error| error.to_string())?).plugin)
}

struct Hello {
    plugin: Arc<Plugin>,
    /// Instances are kept as long as it is there.
    _loader: Loader,
}

impl BenchFn for Hello {
    async fn once(&mut self) {
        self.plugin.call_tool("hello", ARGS, Arc::new(StdioCaller)).await.outcome.unwrap();
    }
}

struct Idle {
    plugin: Arc<Plugin>,
    _loader: Loader,
}

impl BenchFn for Idle {
    async fn once(&mut self) {
        self.plugin.make_instance().await.unwrap();
    }
}

/// A client that hears nothing, but is known to be the same in each call: for nobody else an instance is kept.
struct StdioCaller;

impl Client for StdioCaller {
    fn caller(&self) -> Caller {
        Caller::Stdio
    }

    fn info(&self) -> ClientInfo {
        NoClient.info()
    }

    fn meta_size(&self) -> usize {
        0
    }

    fn meta(&self) -> Option<String> {
        None
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn log(&self, _: LogLevel, _: Option<&str>, _: &serde_json::value::RawValue) {}

    fn progress(&self, _: f64, _: Option<f64>, _: Option<&str>) {}

    fn send_requests(&self, _: Vec<ClientRequest>) -> BoxFuture<'_, ClientResponses> {
        unreachable!("the tool has its argument")
    }
}
