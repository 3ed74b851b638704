//! The load generator: reads a plan as JSON from its argument, prints a report as JSON.

#![allow(clippy::print_stdout, reason = "the report goes to the process that asked for it")]

use std::time::Duration;

use anyhow::{Context as _, Result};
use plugport_rivals::plan::Plan;

/// A server that does not respond would be waited for without end.
const TIMEOUT: Duration = Duration::from_secs(60);

fn main() -> Result<()> {
    let plan = std::env::args().nth(1).context("rivals-load PLAN")?;
    let plan: Plan = serde_json::from_str(&plan)?;
    let patience = Duration::from_millis(plan.millis) + TIMEOUT;
    let runtime = tokio::runtime::Builder::new_current_thread().event_interval(2).enable_all().build()?;
    let run = async { tokio::time::timeout(patience, plugport_rivals::load::run(&plan)).await };
    let report = runtime.block_on(run).context("the server does not respond")??;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}
