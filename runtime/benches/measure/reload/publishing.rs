//! From the rename of a file into the folder to `list_changed` on the wire.

use std::time::{Duration, Instant};

use plugport::config::{Limits, ServerConfig};
use plugport::sandbox::{Compiler, engine};

use super::build;
use super::table::{Spread, Table};
use crate::support::server::{Home, Listener, PROGRAM, Server};

const ROUNDS: usize = 40;

/// Rounds before those that count.
const WARM_UP: usize = 4;

/// How long a file must stay the same: `DEBOUNCE_TIME` of `runtime/src/watch/debounce.rs`.
const DEBOUNCE_TIME: Duration = Duration::from_millis(100);

/// The pause between two rounds. A prime number of milliseconds, to avoid synchronising with any period.
const PAUSE: Duration = Duration::from_millis(211);

/// Aim for the whole time.
const AIM: Duration = Duration::from_millis(300);

/// Aim for the time without debouncing and compiling.
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

    /// The time until the client is notified of this file.
    async fn publish(&mut self, bytes: &[u8]) -> Duration {
        tokio::time::sleep(PAUSE).await;
        let begun = self.home.put("v.wasm", bytes);
        let took = self.listener.tools_changed().await - begun;
        assert!(took >= DEBOUNCE_TIME, "a notification after {took:?} is about another change");
        took
    }
}

/// Every build is new, so each is compiled. The time for compiling is measured separately: the same bytes, in a process
/// of the same program, while the server is idle. The rest is the server's own time, column by column, since two
/// compilations of the same bytes differ by more than that.
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
    let (total, compile, debounce) =
        (Spread::of(&totals), Spread::of(&compiles), Spread::always(DEBOUNCE_TIME));
    table.aimed("new code: from rename to list_changed", total, AIM);
    table.times("  debouncing the file", debounce);
    table.times("  compiling", compile);
    table.aimed("  our own part (the remaining time)", total.less(debounce).less(compile), OWN);
}

/// Two builds take turns, so their code is cached.
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
    table.times("cached code: from rename to list_changed", total);
    table.aimed("  our own part beyond debouncing", total.less(Spread::always(DEBOUNCE_TIME)), OWN);
}
