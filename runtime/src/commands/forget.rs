//! `plugport forget`: deletes what one caller has stored, for an operator who removes that caller.
//!
//! Only stores that plugins have for each caller (`per = "caller"`): what one caller stored in a store that all share
//! cannot be told from what others stored there. Servers may run meanwhile.

use std::process::ExitCode;

use anyhow::{Context as _, anyhow};

use super::{CommandError, console};
use crate::cli;
use crate::observe::Escaped;
use crate::sandbox::KvDatabase;

/// How the names of callers with stores begin; `stdio` is one as a whole.
const KINDS: [&str; 3] = ["token:", "oauth:", "cert:"];

pub(super) async fn run(args: cli::Forget) -> Result<ExitCode, CommandError> {
    let config = args.source.configuration()?;
    let caller = args.caller;
    if caller != "stdio" && !KINDS.iter().any(|kind| caller.starts_with(kind)) {
        let why = "is no caller; write it as the audit does, such as token:ada, cert:SUBJECT, stdio or \
                   oauth:https://idp.example.com#ada";
        return Err(CommandError::Usage(anyhow!("`{}` {why}", Escaped(&caller))));
    }
    let (store, name) = (KvDatabase::of_state(config.state_dir.clone()), caller.clone());
    let deleting = tokio::task::spawn_blocking(move || store.forget_caller(&name));
    let deleted = deleting.await.context("cannot delete")?.context("cannot delete")?;
    if deleted.is_empty() {
        console::print(&format!("{} has stored nothing", Escaped(&caller)));
    }
    for store in deleted {
        console::print(&format!("{}: deleted {} bytes", Escaped(&store.plugin), store.bytes));
    }
    Ok(ExitCode::SUCCESS)
}
