//! 200 plugins with cached code: how soon all of them are listed, and the memory of each while it is idle.

use std::time::{Duration, Instant};

use super::build;
use super::table::{Spread, Table};
use crate::support::server::{Client, Home, Memory, Server};

pub const PLUGINS: usize = 200;

const STARTS: usize = 5;

/// From the start of the program to the end of a complete list.
const AIM: Duration = Duration::from_secs(1);

/// Aim for the memory of an idle plugin, KiB.
const MAX_KIB: f64 = 400.0;

/// How long a server idles before its memory is measured.
const IDLE: Duration = Duration::from_secs(2);

/// How long compiling all of them may take.
const COMPILE_TIMEOUT: Duration = Duration::from_secs(600);

/// A folder of plugins with cached code. No two plugins are the same file.
pub struct ManyPlugins(Home);

impl ManyPlugins {
    pub async fn prepare() -> Self {
        let home = Home::new();
        for number in 0..PLUGINS {
            home.put(&format!("p{number:03}.wasm"), &build(number));
        }
        let begun = Instant::now();
        let server = Server::start(&home).await;
        complete(&mut Client::new(&server).await, PLUGINS).await;
        server.end().await;
        println!("{PLUGINS} plugins compiled and listed in {:.1} s\n", begun.elapsed().as_secs_f64());
        Self(home)
    }

    pub async fn measure(&self, table: &mut Table) {
        let (mut times, mut requests) = (Vec::new(), 0);
        for _ in 0..STARTS {
            let begun = Instant::now();
            let server = Server::start(&self.0).await;
            requests = requests.max(complete(&mut Client::new(&server).await, PLUGINS).await);
            times.push(begun.elapsed());
            server.end().await;
        }
        table.aimed(
            &format!("{PLUGINS} plugins, cached code: from start to complete list"),
            Spread::of(&times),
            AIM,
        );
        table.number("  lists that were requested until one was complete", requests as f64, "", 1.0);
        let (full, empty) = (idle(&self.0, PLUGINS).await, idle(&Home::new(), 0).await);
        let each = |of: fn(&Memory) -> f64| (of(&full) - of(&empty)) / 1024.0 / PLUGINS as f64;
        let (own, mapped) = (each(|memory| memory.own), each(|memory| memory.mapped));
        println!("  mapped code of an idle plugin, shared and given back when needed: {mapped:.0} KiB");
        table.number("  memory of its own of an idle plugin", own, "KiB", MAX_KIB);
    }
}

/// Requests the list of tools until it has this many tools; returns the number of requests.
async fn complete(client: &mut Client, tools: usize) -> usize {
    let begun = Instant::now();
    let mut requests = 1;
    while client.tools().await != Some(tools) {
        assert!(begun.elapsed() < COMPILE_TIMEOUT, "{tools} tools are still not listed");
        tokio::time::sleep(Duration::from_millis(5)).await;
        requests += 1;
    }
    requests
}

/// Memory of an idle server that has listed its tools.
async fn idle(home: &Home, tools: usize) -> Memory {
    let server = Server::start(home).await;
    complete(&mut Client::new(&server).await, tools).await;
    tokio::time::sleep(IDLE).await;
    let memory = server.memory();
    server.end().await;
    memory
}
