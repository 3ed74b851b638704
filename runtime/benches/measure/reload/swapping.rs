//! Measures the swap itself: cached code of a version is loaded and replaces the previous version, without a server.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plugport::catalog::{Catalog, PluginEntry, Snapshot};
use plugport::config::Config;
use plugport::plugin::{ComponentFile, Loader};
use plugport::sandbox::{CodeCache, Compiler};

use super::table::{Spread, Table};
use super::{OTHER, build, guest};
use crate::support::loader_with;
use crate::support::server::PROGRAM;

const SWAPS: usize = 300;

/// Swaps before those that count; the first two compile.
const WARM_UP: usize = 20;

/// Aim for the swap.
const AIM: Duration = Duration::from_millis(1);

/// Swaps one of `plugins` again and again.
pub async fn measure(table: &mut Table, plugins: usize) {
    let dir = tempfile::tempdir().unwrap();
    let loader = loader(dir.path());
    let mut entries = Vec::new();
    for number in 1..plugins {
        entries.push(load(&loader, &format!("p{number:03}"), &guest(OTHER)).await);
    }
    let catalog = Catalog::new(Snapshot::new(entries));
    let files = [0, 1].map(|number| {
        let file = dir.path().join(format!("{number}.wasm"));
        std::fs::write(&file, build(number)).unwrap();
        file
    });
    let (mut loads, mut swaps, mut both) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..WARM_UP + SWAPS {
        let begun = Instant::now();
        let entry = load(&loader, "v", &files[round % files.len()]).await;
        let loaded = begun.elapsed();
        catalog.publish(catalog.current().with(Arc::new(entry)));
        let swapped = begun.elapsed();
        if round >= WARM_UP {
            loads.push(loaded);
            swaps.push(swapped - loaded);
            both.push(swapped);
        }
    }
    let of = if plugins == 1 { "the only plugin".to_owned() } else { format!("one of {plugins} plugins") };
    table.times(&format!("swapping {of}: loading cached code, and the swap"), Spread::of(&both));
    table.times("  loading: reading, cached code, an instance that lists, validation", Spread::of(&loads));
    table.aimed("  the swap", Spread::of(&swaps), AIM);
}

fn loader(state: &Path) -> Loader {
    let compiler = Compiler::with_program(PROGRAM.into()).with_caches(CodeCache::open(state, 64).unwrap());
    loader_with(compiler)
}

async fn load(loader: &Loader, name: &str, file: &Path) -> PluginEntry {
    let settings = Config::new("unused".into()).plugin(name);
    let artifact = ComponentFile::read(file, settings.limits.wasm_mib).unwrap();
    PluginEntry::validate(loader.load(name, artifact, settings).await.unwrap())
}
