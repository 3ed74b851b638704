//! The load generator: reads a plan as JSON from its argument, prints a report as JSON.

#![allow(clippy::print_stdout, reason = "the report goes to the process that asked for it")]

use anyhow::{Context as _, Result};

fn main() -> Result<()> {
    let plan = std::env::args().nth(1).context("rivals-load PLAN")?;
    let plan = serde_json::from_str(&plan)?;
    let runtime = tokio::runtime::Builder::new_current_thread().event_interval(2).enable_all().build()?;
    let report = runtime.block_on(plugport_rivals::load::run(&plan))?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}
