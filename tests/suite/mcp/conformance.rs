//! The official conformance suite, whole, against the real binary: every revision that it has.

use std::path::Path;

use anyhow::{Result, ensure};
use plugport_tests::build::{guest, shared_code_cache};
use plugport_tests::conformance::{Outcome, Suite};
use plugport_tests::server::Server;
use plugport_tests::shipped_files::with_folder;

/// The scenario of notifications about tasks, which the suite always skips (`tasks` tests these), and its only check.
const SKIPPED: &str = "tasks-status-notifications";
const SKIPPED_CHECK: &str = "tasks-status-notifications: tasks-status-notifications";

/// Checks that test nothing here: responses that need no stream are JSON, which the suite then skips.
const UNTRIED: [&str; 2] = ["server-sse-multiple-streams: server-sse-streams-functional", SKIPPED_CHECK];

/// The scenarios of the extension Tasks, which no revision requires.
const TASKS: [&str; 9] = [
    "tasks-capability-negotiation",
    "tasks-dispatch-and-envelope",
    "tasks-lifecycle",
    "tasks-mrtr-composition",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-request-state-removal",
    "tasks-required-task-error",
    "tasks-wire-fields",
];

/// The scenarios of the extension Skills, which run only when they are named.
const SKILLS: [&[&str]; 3] = [
    &["--scenario", "sep-2640-skills-enumeration"],
    &["--scenario", "sep-2640-skills-directory"],
    &["--scenario", "sep-2640-skills-manifest"],
];

/// The grants of the guest `conformance`. Silent streams are closed, since one scenario tests that.
pub(crate) fn granted(state: &Path) -> String {
    format!(
        "[server]\nstate_dir = {:?}\ncompiled_cache_dir = {:?}\nsse_close_ms = 1000\ninitial_load_wait_ms = 120_000\n\
         [plugins.conformance]\nprefix = \"\"\n\
         [plugins.conformance.grants]\nkv = true\nsampling = true\nelicitation = true\nroots = true\n",
        state.display().to_string(),
        shared_code_cache().display().to_string()
    )
}

async fn passes(suite: Suite, selection: &'static [&'static str], at_least: usize) -> Result<Outcome> {
    let state = tempfile::tempdir()?;
    let component = with_folder(&guest("conformance"), "tests/guests/examples/conformance/files");
    let server = Server::builder()
        .file("conformance.wasm", &component)
        .config(&granted(state.path()))
        .alone()
        .start()
        .await;
    // The suite also checks that other names than this one are rejected.
    let url = server.url().replace("127.0.0.1", "localhost");
    let outcome = suite.run(url, selection).await?;
    let failures = outcome.failures();
    ensure!(failures.is_empty(), "{}\nthe server said:\n{}", failures.join("\n"), server.log());
    let empty: Vec<&str> = outcome.empty().into_iter().filter(|scenario| *scenario != SKIPPED).collect();
    ensure!(empty.is_empty(), "nothing was checked in {empty:?}");
    let surprise: Vec<String> =
        outcome.untried().into_iter().filter(|check| !UNTRIED.contains(&check.as_str())).collect();
    ensure!(surprise.is_empty(), "neither passed nor failed, and not known to: {surprise:?}");
    ensure!(outcome.accepted, "the suite is not content with {selection:?}");
    ensure!(outcome.passed() >= at_least, "only {} checks passed", outcome.passed());
    Ok(outcome)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_required_scenarios_of_2026_07_28_and_those_not_scored() -> Result<()> {
    let outcome = passes(Suite::Newest, &["--requirements", "2026-07-28"], 150).await?;
    let missing: Vec<_> = TASKS.iter().filter(|name| !outcome.scenarios.contains_key(**name)).collect();
    ensure!(missing.is_empty(), "these did not run: {missing:?}");
    ensure!(
        outcome.untried().iter().any(|check| check == SKIPPED_CHECK),
        "{SKIPPED} is not skipped any more"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scenarios_of_skills() -> Result<()> {
    for selection in SKILLS {
        passes(Suite::Newest, selection, 1).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_required_scenarios_of_2025_11_25_and_those_not_scored() -> Result<()> {
    passes(Suite::Newest, &["--requirements", "2025-11-25"], 83).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn all_scenarios_of_2025_06_18() -> Result<()> {
    passes(Suite::Newest, &["--suite", "all", "--spec-version", "2025-06-18"], 56).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn all_scenarios_of_2025_03_26() -> Result<()> {
    passes(Suite::Newest, &["--suite", "all", "--spec-version", "2025-03-26"], 3).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn all_scenarios_of_the_older_suite() -> Result<()> {
    passes(Suite::Older, &["--suite", "all"], 46).await.map(drop)
}
