//! The load generator: N clients that each send a request, wait for its response, and send the next.
//!
//! Requests are bytes made in advance, in which only the id changes, since a session takes no id twice. A task that is
//! always ready keeps the process from sleeping: waking a sleeping client costs the server up to 10 µs on a virtual
//! machine, which is not a property of the server. Only while the server computes does the client sleep, for it would
//! take a core away.
//!
//! Over HTTP the process runs on the last processor only, so that it never takes another one from the server; the
//! system may still put a thread of the server beside it. Over stdio it starts the server, which would be confined to
//! that processor too.

mod http_client;
mod http_connection;
mod messages;
mod processor;
mod stdio_client;

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::plan::{Plan, Report, Target, Task};
use crate::usage::{self, CpuTime};
use http_client::HttpClient;
use stdio_client::StdioClient;

/// Before the measurement, so that caches are filled and programs compiled.
const WARM_UP: Duration = Duration::from_millis(400);

enum Client {
    Http(Box<HttpClient>),
    Stdio(Box<StdioClient>),
}

impl Client {
    async fn call(&mut self) -> Result<()> {
        match self {
            Self::Http(client) => client.call().await,
            Self::Stdio(client) => client.call().await,
        }
    }

    async fn end(self) -> Result<()> {
        match self {
            Self::Http(client) => client.end().await,
            Self::Stdio(client) => client.end().await,
        }
    }

    /// Calls until the time has come, at least twice. Returns the latencies in µs.
    async fn run(mut self, time: Duration) -> Result<(Self, Vec<f64>)> {
        let until = Instant::now() + time;
        let mut latencies = Vec::new();
        while latencies.len() < 2 || Instant::now() < until {
            let begun = Instant::now();
            self.call().await?;
            latencies.push(begun.elapsed().as_secs_f64() * 1e6);
        }
        Ok((self, latencies))
    }
}

/// Carries out a plan.
pub async fn run(plan: &Plan) -> Result<Report> {
    if let Target::Http { .. } = plan.target {
        processor::confine_to_last()?;
    }
    let mut clients = Vec::new();
    let mut server = 0;
    for _ in 0..plan.connections {
        clients.push(match &plan.target {
            Target::Http { address, pid } => {
                server = *pid;
                Client::Http(Box::new(HttpClient::connect(*address, plan).await?))
            }
            Target::Stdio { command, folder } => {
                let client = StdioClient::start(command, folder, plan).await?;
                server = client.pid();
                Client::Stdio(Box::new(client))
            }
        });
    }
    let awake = (plan.task != Task::Work).then(|| tokio::spawn(stay_awake()));
    let (clients, _) = run_clients(clients, WARM_UP).await.context("while warming up")?;
    let (begun, cpu) = (Instant::now(), CpuTime::of(server)?);
    let (clients, mut latencies) = run_clients(clients, Duration::from_millis(plan.millis)).await?;
    let (elapsed, cpu) = (begun.elapsed().as_secs_f64(), CpuTime::of(server)?.since(cpu));
    let memory = usage::memory(server)?;
    for client in clients {
        client.end().await?;
    }
    if let Some(awake) = awake {
        awake.abort();
    }
    latencies.sort_by(f64::total_cmp);
    let count = latencies.len();
    let at = |part: f64| latencies[((count as f64 * part) as usize).min(count - 1)];
    Ok(Report {
        calls: count as u64,
        per_second: count as f64 / elapsed,
        p50_us: at(0.5),
        p99_us: at(0.99),
        cpu_us: cpu * 1e6 / count as f64,
        memory,
    })
}

/// The text of a server's first reply over HTTP.
pub async fn first_reply(plan: &Plan) -> Result<String> {
    let Target::Http { address, .. } = plan.target else { bail!("only HTTP has a first reply") };
    HttpClient::connect(address, plan).await?.reply().await
}

async fn run_clients(clients: Vec<Client>, time: Duration) -> Result<(Vec<Client>, Vec<f64>)> {
    let running: Vec<_> = clients.into_iter().map(|client| tokio::spawn(client.run(time))).collect();
    let (mut clients, mut latencies) = (Vec::new(), Vec::new());
    for client in running {
        let (client, its_latencies) = client.await??;
        clients.push(client);
        latencies.extend(its_latencies);
    }
    Ok((clients, latencies))
}

async fn stay_awake() {
    loop {
        let mut yielded = false;
        poll_fn(|context| {
            context.waker().wake_by_ref();
            if std::mem::replace(&mut yielded, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
