//! Starts the servers, measures them in turns, and shows the results.
//!
//! Servers that answer one case run at the same time and are measured one after the other, again and again: A B C, A B
//! C. What disturbs the machine for a while disturbs each of them, and the medians of ratios are steadier than times.

mod aims;
mod case;
mod docs;
mod plot;
mod programs;
mod results;
mod rival;
mod server;
mod settings;
mod tables;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::load;
use crate::plan::{Plan, Report, Revision, Target, Task};
use crate::usage;
use case::{Case, Transport};
use programs::Programs;
use results::Results;
use rival::{RIVALS, Rival, ToolSet};
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
    let cases = settings.cases();
    let mut tool_sets: Vec<ToolSet> = cases.iter().map(|case| case.tool_set()).collect();
    tool_sets.dedup();
    for tool_set in tool_sets {
        let cases: Vec<Case> = cases.iter().copied().filter(|case| case.tool_set() == tool_set).collect();
        let running = RunningServers::start(&programs, &present, tool_set, &mut results)?;
        for round in 1..=settings.rounds {
            for case in &cases {
                eprintln!("round {round} of {}: {case}", settings.rounds);
                running.measure(*case, settings.millis, &mut results);
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

/// The servers that run, with one set of tools.
struct RunningServers<'p> {
    programs: &'p Programs,
    rivals: Vec<Rival>,
    servers: BTreeMap<Rival, Server>,
    /// Where servers over stdio run.
    homes: BTreeMap<Rival, Home>,
}

impl<'p> RunningServers<'p> {
    fn start(
        programs: &'p Programs,
        rivals: &[Rival],
        tool_set: ToolSet,
        results: &mut Results,
    ) -> Result<Self> {
        let rivals: Vec<Rival> = rivals.iter().copied().filter(|rival| rival.has(tool_set)).collect();
        let mut running =
            Self { programs, rivals: rivals.clone(), servers: BTreeMap::new(), homes: BTreeMap::new() };
        let mut list = None;
        // Plugport first: the bare handler writes its list.
        let others = rivals.iter().filter(|rival| !rival.is_plugport());
        for rival in rivals.iter().filter(|rival| rival.is_plugport()).chain(others) {
            running.homes.insert(*rival, Home::new(programs, *rival, tool_set)?);
            if !rival.serves_http() {
                continue;
            }
            let (server, reply) = match start(programs, *rival, tool_set, list.as_deref()) {
                Ok(started) => started,
                // The bare handler needs the list. Without another server, its cases say that it does not run.
                Err(error) if *rival == Rival::Fresh => return Err(error),
                Err(error) => {
                    eprintln!("{error:#}");
                    continue;
                }
            };
            if *rival == Rival::Fresh {
                list = Some(result_of(&reply)?);
            }
            if tool_set == ToolSet::Tasks {
                results.idle.insert(*rival, usage::memory(server.pid())?);
            }
            running.servers.insert(*rival, server);
        }
        Ok(running)
    }

    /// Measures each server that can once.
    fn measure(&self, case: Case, millis: u64, results: &mut Results) {
        for rival in self.rivals.iter().filter(|rival| rival.cannot(case).is_none()) {
            match self.report(*rival, case, millis) {
                Ok(report) => results.add(case, *rival, report),
                Err(error) => {
                    eprintln!("{}, {case}: {error:#}", rival.title());
                    let first = format!("{error:#}").lines().next().unwrap_or_default().to_owned();
                    results.fail(case, *rival, first.chars().take(160).collect());
                }
            }
        }
    }

    fn report(&self, rival: Rival, case: Case, millis: u64) -> Result<Report> {
        let target = match case.transport {
            Transport::Http => {
                let server = self.servers.get(&rival).context("it does not run")?;
                Target::Http { address: server.address, pid: server.pid() }
            }
            Transport::Stdio => {
                let home = self.homes.get(&rival).context("it has no folder")?;
                Target::Stdio { command: self.programs.stdio(rival), folder: home.path().to_owned() }
            }
        };
        let plan =
            Plan { revision: case.revision, task: case.task, connections: case.connections, millis, target };
        let output = self.programs.load().arg(serde_json::to_string(&plan)?).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// A server that lists its tools, and its list.
fn start(
    programs: &Programs,
    rival: Rival,
    tool_set: ToolSet,
    list: Option<&str>,
) -> Result<(Server, String)> {
    let server = Server::start(programs, rival, tool_set, list)?;
    let reply = ask(&server, tool_set).with_context(|| format!("{} does not list", rival.title()))?;
    Ok((server, reply))
}

/// The reply to `tools/list` of a server that has just started.
fn ask(server: &Server, tool_set: ToolSet) -> Result<String> {
    let tools = if let ToolSet::Echoes(tools) = tool_set { tools } else { 4 };
    let target = Target::Http { address: server.address, pid: server.pid() };
    let plan =
        Plan { revision: Revision::Stateless, task: Task::List(tools), connections: 1, millis: 0, target };
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
