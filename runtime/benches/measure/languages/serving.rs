//! A component as the server runs it: compiled once, instantiated, and called with a fresh or a pooled instance.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plugport::call_env::{Caller, NoClient};
use plugport::catalog::PluginEntry;
use plugport::config::{Config, PluginConfig, ServerConfig};
use plugport::observe::Audit;
use plugport::plugin::{ComponentFile, Loader, Plugin};
use plugport::sandbox::{Compiler, KvDatabase};

use crate::support::in_process::{BenchFn, measure_in_process, runtime};
use crate::support::server::PROGRAM;
use crate::support::{loader, loader_with};

const TIME: Duration = Duration::from_secs(4);
const ARGS: &str = r#"{"name":"Ada"}"#;

/// Rates are not measured, so they are unlimited.
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

    /// The settings that an operator would write for such a plugin.
    fn settings(self) -> Result<PluginConfig, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plugport.toml");
        std::fs::write(&file, self.config()).unwrap();
        let config = Config::read(&file, dir.path().to_owned()).map_err(|error| format!("{error:?}"))?;
        let mut settings = config.plugin("hello");
        settings.limits.set("tool_calls_per_second", UNBOUNDED).unwrap();
        Ok(settings)
    }
}

/// The allocator of instances.
#[derive(Debug, Clone, Copy)]
pub enum Memory {
    /// The pooling allocator, as in a server.
    Pooled,
    /// Memory from the system for each instance.
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

/// Seconds from the bytes of the file to a plugin with a listing, compiled in a child process.
pub fn compile_seconds(component: &Path) -> Result<f64, String> {
    runtime().block_on(async {
        let loader = loader_with(Compiler::with_program(PROGRAM.into()));
        let start = Instant::now();
        load(&loader, component, Instances::Fresh.settings()?).await?;
        Ok(start.elapsed().as_secs_f64())
    })
}

/// The median of a call, including its instance.
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

/// The median of making and dropping an instance without a call.
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
    /// The instance pool lives as long as the loader.
    _loader: Loader,
}

impl BenchFn for Hello {
    async fn once(&mut self) {
        // Instances are reused only for the same caller, whom the server must know.
        self.plugin.call_tool("hello", ARGS, Arc::new(NoClient(Caller::Stdio))).await.outcome.unwrap();
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
