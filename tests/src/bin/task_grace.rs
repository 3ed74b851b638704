//! `cargo run -p plugport-tests --bin task_grace` lets unchanged guests sleep for 5 s, one in each language, and prints
//! how much later than the grace their clients had the ids of their tasks, beside the aim.
//!
//! The suite does the same with shorter times and a tolerance for a busy machine. Run this on a quiet one.

#![expect(clippy::print_stdout, reason = "printing a table is what this program is for")]
#![expect(clippy::unwrap_used, reason = "a benchmark stops at the first surprise")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use plugport_tests::http_client::Client;
use plugport_tests::languages::{Lang, features};
use plugport_tests::server::Server;
use serde_json::json;

const LANGUAGES: [Lang; 8] =
    [Lang::Rust, Lang::TypeScript, Lang::JavaScript, Lang::Python, Lang::Go, Lang::C, Lang::Cpp, Lang::Zig];

/// The default of `task_after_ms`.
const GRACE: Duration = Duration::from_secs(2);

const TOOL: &str = "sleeper-sleep";

const SLEEP: Duration = Duration::from_secs(5);

/// How much earlier or later the id may come, ms.
const AIM_MS: f64 = 50.0;

#[tokio::main]
async fn main() -> ExitCode {
    println!("| language | calls | id after the grace, ms | aim, ms | |");
    println!("|---|---|---|---|---|");
    let mut missed = 0;
    for lang in LANGUAGES {
        let name = lang.name();
        match late_ms(lang).await {
            Some(late) => {
                let holds = late.iter().all(|late| late.abs() <= AIM_MS);
                missed += u32::from(!holds);
                let (first, last) = (
                    late.iter().copied().fold(f64::MAX, f64::min),
                    late.iter().copied().fold(f64::MIN, f64::max),
                );
                let verdict = if holds { "holds" } else { "missed" };
                println!("| {name} | {} | {first:.1} to {last:.1} | ±{AIM_MS:.0} | {verdict} |", late.len());
            }
            None => println!("| {name} | | not installed | ±{AIM_MS:.0} | |"),
        }
    }
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How late the ids of three tasks came. `None` if this machine cannot build the language.
async fn late_ms(lang: Lang) -> Option<Vec<f64>> {
    let built = tokio::task::spawn_blocking(move || features(lang)).await.unwrap()?;
    let component = std::fs::read(&built).unwrap();
    let server = Server::builder().file("sleeper.wasm", &component).start().await;
    let client = Client::new(server.url());
    wait_until_called(&client).await;
    let mut late = Vec::new();
    for _ in 0..3 {
        late.push(one(&client).await);
    }
    Some(late)
}

/// Compiling an interpreter takes seconds. Until then the tool is unknown.
async fn wait_until_called(client: &Client) {
    let begun = Instant::now();
    loop {
        let said = client.call(TOOL, json!({ "ms": 0 })).await;
        if said.response().get("result").is_some() {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{said:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn one(client: &Client) -> f64 {
    let declared = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": declared });
    let params = json!({ "name": TOOL, "arguments": { "ms": SLEEP.as_millis() } });
    let begun = Instant::now();
    let created = client.request_with_meta("tools/call", params, meta).await;
    let took = begun.elapsed();
    assert_eq!(created.result()["resultType"], "task", "{created:?}");
    (took.as_secs_f64() - GRACE.as_secs_f64()) * 1e3
}
