//! Folders with 1, 10, 100 and 1,000 plugins of six tools each, and compiled code for all of them. No two plugins are
//! the same file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::SIZES;
use crate::support::server::{Client, Home, Server};

/// A guest with the tools `ask`, which suspends its call, `client`, which does little, and four others.
const GUEST: &str = "client_requests.wasm";

/// The tools of each plugin.
pub const TOOLS: usize = 6;

/// The most suspended calls that are measured.
pub const SUSPENDED: usize = 10_000;

/// How long compiling all of them may take.
const COMPILE_TIMEOUT: Duration = Duration::from_secs(1_200);

pub struct Homes {
    /// A server in it has the settings that a server has by default, where they matter to its memory.
    pub by_size: Vec<Home>,
    /// The same plugins as the largest home, for very many clients.
    pub many_clients: Home,
    /// No plugins.
    pub empty: Home,
    _cache: TempDir,
}

impl Homes {
    pub async fn prepare() -> Self {
        let cache = tempfile::tempdir().unwrap();
        let by_size: Vec<_> = SIZES
            .iter()
            .map(|plugins| filled(Home::with_config(&config(cache.path(), "", "")), *plugins))
            .collect();
        let homes = Self {
            by_size,
            many_clients: filled(Home::with_config(&many_clients_config(cache.path())), largest()),
            empty: Home::with_config(&config(cache.path(), "", "")),
            _cache: cache,
        };
        let begun = Instant::now();
        let server = homes.server(homes.by_size.last().unwrap(), largest()).await;
        server.end().await;
        let seconds = begun.elapsed().as_secs_f64();
        println!("{} plugins compiled and listed in {seconds:.1} s", largest());
        homes
    }

    /// A server that has listed all of its plugins.
    pub async fn server(&self, home: &Home, plugins: usize) -> Server {
        let server = Server::start(home).await;
        wait_for_tools(&mut Client::new(&server).await, plugins * TOOLS).await;
        server
    }
}

/// The largest number of plugins.
pub fn largest() -> usize {
    *SIZES.last().unwrap()
}

/// The name of a plugin.
pub fn name(number: usize) -> String {
    format!("p{number:04}")
}

/// The guest with a custom section that has a number, so that its digest differs and its tools do not.
pub fn build(number: usize) -> Vec<u8> {
    let guest = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/guests")).join(GUEST);
    assert!(guest.is_file(), "{} is missing; run `cargo measure scale`, which builds it", guest.display());
    let mut bytes = std::fs::read(guest).unwrap();
    // The id of custom sections, the size of this one, and the size of its name.
    bytes.extend([0, 14, 5]);
    bytes.extend(b"scale");
    bytes.extend((number as u64).to_le_bytes());
    bytes
}

/// Requests the list of tools until it has this many.
pub async fn wait_for_tools(client: &mut Client, tools: usize) {
    let begun = Instant::now();
    loop {
        let listed = client.tools().await;
        if listed == Some(tools) {
            return;
        }
        assert!(listed.is_none_or(|listed| listed < tools), "{listed:?} tools are listed instead of {tools}");
        assert!(begun.elapsed() < COMPILE_TIMEOUT, "{tools} tools are still not listed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn filled(home: Home, plugins: usize) -> Home {
    for number in 0..plugins {
        home.put(&format!("{}.wasm", name(number)), &build(number));
    }
    home
}

/// Compiled code of 1,000 plugins is larger than `compiled_cache_mib` is by default, and the benchmark adds plugins.
fn config(cache: &Path, server: &str, more: &str) -> String {
    format!(
        "[server]\nping_interval_s = 0\nstate_dir = \"state\"\ncompiled_cache_dir = {:?}\ncompiled_cache_mib = 4096\n\
         max_plugins = 2000\ncaller_calls_per_second = 1000000000\n{server}\
         [limits]\ntool_calls_per_second = 1000000000\n{more}",
        cache.join("code").display().to_string()
    )
}

/// `guest_memory_mib` counts what instances may use, which is far more than what suspended ones do use.
fn many_clients_config(cache: &Path) -> String {
    let server = format!(
        "max_connections = 50000\nmax_sessions = 50000\nsession_idle_s = 86400\nclient_buffers_mib = 4096\n\
         guest_memory_mib = 262144\nsuspended_calls = {SUSPENDED}\nsuspended_call_s = 86400\n"
    );
    let plugin = format!(
        "[plugins.{}]\ngrants = {{ roots = true }}\nlimits = {{ suspended_calls = {SUSPENDED} }}\n",
        name(0)
    );
    config(cache, &server, &plugin)
}
