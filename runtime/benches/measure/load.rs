//! Measures loading a plugin: compiled in a child process, and from the code cache.
//!
//! `cargo measure load` builds the guest and runs this. Loading is everything from the bytes of the file to a plugin
//! with a validated listing.

use std::path::Path;
use std::time::Instant;

use plugport::config::Config;
use plugport::plugin::{ComponentFile, Loader};
use plugport::sandbox::{CodeCache, Compiler};

use crate::support::in_process::runtime;
use crate::support::server::PROGRAM;
use crate::support::{GUEST, Row, guest_file, loader_with};

const COMPILED: usize = 10;
const RECALLED: usize = 500;

pub fn run() {
    let file = guest_file("load");
    runtime().block_on(measure(&file));
}

async fn measure(file: &Path) {
    let state = tempfile::tempdir().unwrap();
    let compiler = || Compiler::with_program(PROGRAM.into());
    println!("{GUEST}, {} KiB", file.metadata().unwrap().len() >> 10);
    println!("{}", Row::HEAD);
    println!("{}", row("compiled in a child process", COMPILED, file, &loader_with(compiler())).await);
    let cache = || CodeCache::open(state.path(), 64).unwrap();
    load(&loader_with(compiler().with_caches(cache())), file).await;
    let cached = loader_with(compiler().with_caches(cache()));
    println!("{}", row("from the code cache", RECALLED, file, &cached).await);
}

async fn row(name: &str, count: usize, file: &Path, loader: &Loader) -> Row {
    let (begun, cpu) = (Instant::now(), process_cpu());
    let mut latencies = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        load(loader, file).await;
        latencies.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Row::new(name, latencies, begun.elapsed().as_secs_f64(), process_cpu() - cpu)
}

async fn load(loader: &Loader, file: &Path) {
    let settings = Config::new("unused".into()).plugin("polite");
    let artifact = ComponentFile::read(file, settings.limits.wasm_mib).unwrap();
    loader.load("polite", artifact, settings).await.unwrap();
}

/// Processor seconds of this process, which compiles nothing.
fn process_cpu() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
