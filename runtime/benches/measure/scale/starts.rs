//! From the start of the program to the end of a complete list, and the memory of idle servers.

use std::time::Instant;

use super::figures::Figures;
use super::homes::{Homes, TOOLS, largest, wait_for_tools};
use super::process::Memory;
use super::{SETTLE, SIZES, median};
use crate::support::server::{Client, Home, Server};

const STARTS: usize = 5;

/// Aim for the start with the most plugins, ms.
const START_MS: f64 = 2_000.0;

/// Aim for the private memory of an idle plugin, KiB.
const PLUGIN_KIB: f64 = 100.0;

/// Aim for the resident memory of a server without plugins, MB.
const IDLE_MB: f64 = 20.0;

/// Returns the median time for each number of plugins, ms.
pub async fn measure(homes: &Homes, figures: &mut Figures) -> Vec<(f64, f64)> {
    figures.heading("start until the complete list, cached code");
    let mut medians = Vec::new();
    for (plugins, home) in SIZES.iter().zip(&homes.by_size) {
        let mut times = Vec::new();
        for _ in 0..STARTS {
            times.push(start(home, plugins * TOOLS).await);
        }
        let slowest = times.iter().copied().fold(0.0, f64::max);
        let middle = median(times);
        figures.plain(&format!("{plugins} plugins, the median of {STARTS}"), middle, "ms");
        if *plugins == largest() {
            figures.aimed(&format!("{plugins} plugins, the slowest"), slowest, "ms", START_MS);
        }
        medians.push((*plugins as f64, middle));
    }
    figures.heading("memory of an idle server");
    let idle = settled(homes, &homes.empty, 0).await;
    figures.aimed("no plugins: resident", idle.resident * 1024.0 / 1e6, "MB", IDLE_MB);
    figures.plain("  of that private", idle.private / 1024.0, "MiB");
    let full = settled(homes, homes.by_size.last().unwrap(), largest()).await;
    let each = |full: f64, idle: f64| (full - idle) / largest() as f64;
    figures.aimed("each plugin: private", each(full.private, idle.private), "KiB", PLUGIN_KIB);
    let mapped = each(full.mapped, idle.mapped);
    figures.plain("each plugin: mapped code, which the system can take back", mapped, "KiB");
    figures.plain(&format!("{} plugins: resident", largest()), full.resident / 1024.0, "MiB");
    medians
}

/// Milliseconds until the list is complete.
async fn start(home: &Home, tools: usize) -> f64 {
    let begun = Instant::now();
    let server = Server::start(home).await;
    wait_for_tools(&mut Client::new(&server).await, tools).await;
    let millis = begun.elapsed().as_secs_f64() * 1e3;
    server.end().await;
    millis
}

/// The memory of a server that has listed its plugins and rests.
async fn settled(homes: &Homes, home: &Home, plugins: usize) -> Memory {
    let server = homes.server(home, plugins).await;
    tokio::time::sleep(SETTLE).await;
    let memory = Memory::of(server.id());
    server.end().await;
    memory
}
