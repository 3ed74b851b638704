//! Measures the time from renaming a file into the plugin folder until a client is notified, and the start and the
//! memory of 200 plugins. The real program serves; each measurement has an aim.
//!
//! `cargo measure reload` builds the guests and runs this. It fails when an aim is missed three times in a row: one run
//! may share the machine with other work, which makes waits longer.

mod many_plugins;
mod publishing;
mod swapping;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use many_plugins::ManyPlugins;
use table::Table;

/// A plugin of some 100 KB whose tool's description says which build it is.
const GUEST: &str = "version_a.wasm";

/// A plugin of a few tools.
const OTHER: &str = "polite.wasm";

/// The description of the tool of [`GUEST`].
const DESCRIPTION: &str = "Say which build this is.";

/// Maximum number of runs; the first that meets every aim ends the benchmark.
const RUNS: usize = 3;

pub fn run() -> ExitCode {
    let runtime =
        tokio::runtime::Builder::new_current_thread().event_interval(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let many_plugins = ManyPlugins::prepare().await;
        for _ in 0..RUNS {
            let missed = measure(&many_plugins).await.missed();
            if missed.is_empty() {
                return ExitCode::SUCCESS;
            }
            println!("aims that are not met:\n  {}\n", missed.join("\n  "));
        }
        ExitCode::FAILURE
    })
}

/// Measures everything once.
async fn measure(many_plugins: &ManyPlugins) -> Table {
    let mut table = Table::begin();
    publishing::with_new_code(&mut table).await;
    publishing::with_cached_code(&mut table).await;
    for plugins in [1, many_plugins::PLUGINS] {
        swapping::measure(&mut table, plugins).await;
    }
    many_plugins.measure(&mut table).await;
    table
}

/// A test guest.
fn guest(file: &str) -> PathBuf {
    let guest = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/guests")).join(file);
    assert!(guest.is_file(), "{} is missing; run `cargo measure reload`, which builds it", guest.display());
    guest
}

/// A unique build of [`GUEST`]: its bytes differ, and so does the description of its tool, which clients see.
fn build(number: usize) -> Vec<u8> {
    let mut bytes = std::fs::read(guest(GUEST)).unwrap();
    let description = format!("Build number {number:011}");
    assert_eq!(description.len(), DESCRIPTION.len(), "nothing else in the file may move");
    let offsets: Vec<_> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(DESCRIPTION.as_bytes())).collect();
    assert!(!offsets.is_empty(), "{GUEST} no longer says {DESCRIPTION:?}");
    for at in offsets {
        bytes[at..at + description.len()].copy_from_slice(description.as_bytes());
    }
    bytes
}
