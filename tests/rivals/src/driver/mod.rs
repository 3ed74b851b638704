//! Starts the servers, measures them in turns, and shows the results.
//!
//! Servers that answer one cell run at the same time and are measured one after the other, again and again: A B C, A B
//! C. What disturbs the machine for a while disturbs each of them, and the medians of ratios are steadier than times.

mod aims;
mod cell;
mod docs;
mod plot;
mod programs;
mod results;
mod rival;
mod server;
mod settings;
mod tables;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::load;
use crate::plan::{Era, Plan, Report, Target, Task};
use crate::usage;
use cell::{Cell, Transport};
use programs::Programs;
use results::Results;
use rival::{Offer, RIVALS, Rival};
use server::{Home, Server};
use settings::Settings;

/// How often a server that has just started is asked for its list.
const TRIES: usize = 50;

/// Measures what the command line asks for.
pub fn run(arguments: impl Iterator<Item = String>) -> Result<()> {
    let (settings, programs) = (Settings::read(arguments)?, Programs::here()?);
    let (present, missing): (Vec<_>, Vec<_>) = RIVALS.into_iter().partition(|rival| programs.has(*rival));
    for rival in &missing {
        eprintln!("{} is not installed, so it is not measured", rival.title());
    }
    let mut results = Results::default();
    let cells = settings.cells();
    let mut offers: Vec<Offer> = cells.iter().map(|cell| cell.offer()).collect();
    offers.dedup();
    for offer in offers {
        let cells: Vec<Cell> = cells.iter().copied().filter(|cell| cell.offer() == offer).collect();
        let bench = Bench::start(&programs, &present, offer, &mut results)?;
        for round in 1..=settings.rounds {
            for cell in &cells {
                eprintln!("round {round} of {}: {cell}", settings.rounds);
                bench.measure(*cell, settings.millis, &mut results);
            }
        }
    }
    let text = tables::tables(&results);
    println!("{text}");
    // Tables without a server would replace those with it.
    if settings.write && missing.iter().all(|rival| rival.is_optional()) {
        docs::write(programs.root(), &text, &plot::plots(&results))?;
    }
    Ok(())
}

/// The servers of one offer.
struct Bench<'p> {
    programs: &'p Programs,
    rivals: Vec<Rival>,
    servers: BTreeMap<Rival, Server>,
    /// Where servers over stdio run.
    homes: BTreeMap<Rival, Home>,
}

impl<'p> Bench<'p> {
    fn start(programs: &'p Programs, rivals: &[Rival], offer: Offer, results: &mut Results) -> Result<Self> {
        let rivals: Vec<Rival> = rivals.iter().copied().filter(|rival| rival.has(offer)).collect();
        let mut bench =
            Self { programs, rivals: rivals.clone(), servers: BTreeMap::new(), homes: BTreeMap::new() };
        let mut list = None;
        // Plugport first: the bare handler writes its list.
        let others = rivals.iter().filter(|rival| !rival.is_plugport());
        for rival in rivals.iter().filter(|rival| rival.is_plugport()).chain(others) {
            bench.homes.insert(*rival, Home::new(programs, *rival, offer)?);
            if !rival.serves_http() {
                continue;
            }
            let (server, reply) = match start(programs, *rival, offer, list.as_deref()) {
                Ok(started) => started,
                // The bare handler needs the list. Without another server, its cells say that it does not run.
                Err(error) if *rival == Rival::Fresh => return Err(error),
                Err(error) => {
                    eprintln!("{error:#}");
                    continue;
                }
            };
            if *rival == Rival::Fresh {
                list = Some(result_of(&reply)?);
            }
            if offer == Offer::Tools {
                results.idle.insert(*rival, usage::memory(server.pid())?);
            }
            bench.servers.insert(*rival, server);
        }
        Ok(bench)
    }

    /// Measures each server that can once.
    fn measure(&self, cell: Cell, millis: u64, results: &mut Results) {
        for rival in self.rivals.iter().filter(|rival| rival.cannot(cell).is_none()) {
            match self.report(*rival, cell, millis) {
                Ok(report) => results.add(cell, *rival, report),
                Err(error) => {
                    eprintln!("{}, {cell}: {error:#}", rival.title());
                    let first = format!("{error:#}").lines().next().unwrap_or_default().to_owned();
                    results.fail(cell, *rival, first.chars().take(160).collect());
                }
            }
        }
    }

    fn report(&self, rival: Rival, cell: Cell, millis: u64) -> Result<Report> {
        let target = match cell.transport {
            Transport::Http => {
                let server = self.servers.get(&rival).context("it does not run")?;
                Target::Http { address: server.address, pid: server.pid() }
            }
            Transport::Stdio => {
                let home = self.homes.get(&rival).context("it has no folder")?;
                Target::Stdio { command: self.programs.stdio(rival), folder: home.path().to_owned() }
            }
        };
        let plan = Plan { era: cell.era, task: cell.task, connections: cell.connections, millis, target };
        let output = Command::new(self.programs.load()).arg(serde_json::to_string(&plan)?).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// A server that lists its tools, and its list.
fn start(programs: &Programs, rival: Rival, offer: Offer, list: Option<&str>) -> Result<(Server, String)> {
    let server = Server::start(programs, rival, offer, list)?;
    let reply = ask(&server, offer).with_context(|| format!("{} does not list", rival.title()))?;
    Ok((server, reply))
}

/// The reply to `tools/list` of a server that has just started.
fn ask(server: &Server, offer: Offer) -> Result<String> {
    let tools = if let Offer::List(tools) = offer { tools } else { 4 };
    let target = Target::Http { address: server.address, pid: server.pid() };
    let plan = Plan { era: Era::Stateless, task: Task::List(tools), connections: 1, millis: 0, target };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut tries = 0;
    loop {
        tries += 1;
        match runtime.block_on(load::first_reply(&plan)) {
            Ok(reply) if reply.contains("rivals-") => return Ok(reply),
            Ok(reply) if tries == TRIES => bail!("it has no tools: {reply}"),
            Err(error) if tries == TRIES => return Err(error),
            // It does not serve yet, or has not loaded its tools.
            _ => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// The bytes of a reply's result.
fn result_of(reply: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Reply<'a> {
        #[serde(borrow)]
        result: &'a RawValue,
    }
    let reply: Reply<'_> =
        serde_json::from_str(reply).with_context(|| format!("there is no list: {reply}"))?;
    Ok(reply.result.get().to_owned())
}
