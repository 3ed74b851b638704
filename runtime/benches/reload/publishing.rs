//! From the rename of a file into the folder to `list_changed` on the wire.

use std::time::{Duration, Instant};

use plugport::config::{Limits, ServerConfig};
use plugport::sandbox::{Compiler, engine};

use super::build;
use super::server::{Home, Listener, PROGRAM, Server};
use super::table::{Spread, Table};

const ROUNDS: usize = 40;

/// Rounds before those that count.
const WARM_UP: usize = 4;

/// How long a file must stay the same: `SETTLE` of `runtime/src/watch/debounce.rs`.
const SETTLE: Duration = Duration::from_millis(100);

/// Between two rounds. A prime number of milliseconds, to stay out of step with everything.
const PAUSE: Duration = Duration::from_millis(211);

/// All of it.
const AIM: Duration = Duration::from_millis(300);

/// What is neither waiting for the file to settle nor compiling.
const OWN: Duration = Duration::from_millis(20);

/// A server, and a client that listens.
struct Watched {
    home: Home,
    server: Server,
    listener: Listener,
}

impl Watched {
    async fn start() -> Self {
        let home = Home::new();
        let server = Server::start(&home).await;
        let listener = Listener::open(&server).await;
        Self { home, server, listener }
    }

    /// How long it takes until the client hears of this file.
    async fn publish(&mut self, bytes: &[u8]) -> Duration {
        tokio::time::sleep(PAUSE).await;
        let begun = self.home.put("v.wasm", bytes);
        let took = self.listener.tools_changed().await - begun;
        assert!(took >= SETTLE, "news after {took:?} are of another change");
        took
    }
}

/// Every build is a new one, so each is compiled. How long that takes is measured beside: the same bytes, in a process
/// of the same program, while the server is idle. What is left is ours, column by column: two compilations of the same
/// bytes differ by more than all that we do.
pub async fn with_new_code(table: &mut Table) {
    let mut watched = Watched::start().await;
    let engine = engine(&ServerConfig { suspended_calls: 0, ..ServerConfig::default() }).unwrap();
    let (compiler, limits) = (Compiler::with_program(PROGRAM.into()), Limits::default());
    let (mut totals, mut compiles) = (Vec::new(), Vec::new());
    for number in 0..WARM_UP + ROUNDS {
        let bytes = build(number);
        let total = watched.publish(&bytes).await;
        let begun = Instant::now();
        compiler.compile(&engine, bytes, "", &limits).await.unwrap();
        if number >= WARM_UP {
            totals.push(total);
            compiles.push(begun.elapsed());
        }
    }
    watched.server.end().await;
    let (total, compile, settle) = (Spread::of(&totals), Spread::of(&compiles), Spread::always(SETTLE));
    table.aimed("new code: from rename to list_changed", total, AIM);
    table.times("  until the file has settled", settle);
    table.times("  compiling", compile);
    table.aimed("  our own part (the rest)", total.less(settle).less(compile), OWN);
}

/// Two builds take turns, so their code is there already.
pub async fn with_cached_code(table: &mut Table) {
    let mut watched = Watched::start().await;
    let builds = [build(0), build(1)];
    let mut totals = Vec::new();
    for round in 0..WARM_UP + ROUNDS {
        let total = watched.publish(&builds[round % builds.len()]).await;
        if round >= WARM_UP {
            totals.push(total);
        }
    }
    watched.server.end().await;
    let total = Spread::of(&totals);
    table.times("kept code: from rename to list_changed", total);
    table.aimed("  our own part beyond settling", total.less(Spread::always(SETTLE)), OWN);
}
