//! Measures what the sandbox costs, in one run: a raw wasmtime call, a plugin call without transport, an HTTP
//! `tools/call`, and the same HTTP response from a handler without a sandbox.
//!
//! `cargo measure call` builds the guest and runs this. Servers run on one thread of their own, whose CPU clock gives
//! the cost per request without the load generator's share. Figures of a shared machine: compare rows of one run.

use std::time::Duration;

use crate::support::http::{InProcess, Load, bare_router, measure_http};
use crate::support::in_process::measure_in_process;
use crate::support::raw_wasmtime::RawInstance;
use crate::support::{Row, guest_file, plugin_router, published};

const SECONDS: u64 = 4;
const CONNECTIONS: usize = 16;

pub fn run() {
    let guest = guest_file("call");
    let time = Duration::from_secs(SECONDS);
    println!(
        "echo of 32 bytes, {SECONDS} s per row, one thread for the server, {CONNECTIONS} connections for HTTP\n"
    );
    println!("{}", Row::HEAD);
    let raw = measure_in_process("raw wasmtime: fresh instance + call", time, || RawInstance::new(&guest));
    println!("{raw}");
    let plugin = measure_in_process("plugin call without transport", time, || published(&guest));
    println!("{plugin}");
    let routes = plugin_router(&guest);
    println!(
        "{}",
        measure_in_process("POST /mcp without a socket, sandboxed", time, || InProcess::new(routes))
    );
    let routes = bare_router();
    println!(
        "{}",
        measure_in_process("POST /mcp without a socket, bare axum handler", time, || InProcess::new(routes))
    );
    for connections in [1, CONNECTIONS] {
        let load = Load::calls(connections, time);
        let ours = measure_http("HTTP tools/call, sandboxed", &load, plugin_router(&guest));
        println!("{ours}");
        let bare = measure_http("HTTP tools/call, bare axum handler", &load, bare_router());
        println!("{bare}");
        println!(
            "  -> {:.0} % of the bare handler's throughput, {:+.1} µs CPU per request",
            100.0 * ours.per_second / bare.per_second,
            ours.cpu_us - bare.cpu_us,
        );
    }
}
