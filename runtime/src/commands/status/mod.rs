//! `plugport status`: asks every server of this user, or those of one configuration, for its report and prints the
//! reports.
//!
//! A server has one socket in the user's state folder and another in its own state folder, so one server may respond
//! twice. The response is a [report](StatusReport), which the [server](StatusSource) makes and this command prints, as
//! JSON or as a table.

mod status_document;
mod status_source;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::{CommandError, console};
use crate::cli::{self, Source};
use crate::config::{Config, all_user_state_dirs};
use crate::transport::status_socket;
use status_document::StatusReport;
pub(super) use status_source::StatusSource;
use table::table;

pub(super) async fn run(args: cli::Status) -> Result<ExitCode, CommandError> {
    let is_named = args.config.is_some();
    let states = states(args.config)?;
    let (mut reports, mut failed): (Vec<StatusReport>, _) = (Vec::new(), 0);
    for state in &states {
        let responses = match status_socket::query(state).await.map_err(anyhow::Error::from) {
            Ok(responses) => responses,
            // The user did not name this folder, and servers may have their sockets in another one.
            Err(error) if !is_named => {
                console::eprint(&format!("{error:#}"));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for (name, response) in responses {
            match response.map_err(anyhow::Error::from).and_then(|bytes| read(&bytes)) {
                Ok(report) if reports.iter().any(|known| is_same(known, &report)) => {}
                Ok(report) => reports.push(report),
                Err(why) => {
                    failed += 1;
                    let socket = state.join("run").join(name);
                    console::eprint(&format!("the server at {}: {why:#}", socket.display()));
                }
            }
        }
    }
    if args.json {
        console::print_json(&serde_json::to_string_pretty(&reports).context("cannot write the reports")?);
    } else if !reports.is_empty() {
        console::print(&reports.iter().map(table).collect::<Vec<_>>().join("\n\n"));
    }
    if reports.is_empty() && failed == 0 {
        return Err(no_servers(&states).into());
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The folders with sockets: that of the configuration that is named, or else all of this user and that of the
/// configuration in the current folder, whose server may have been started with another home.
fn states(named: Option<PathBuf>) -> Result<Vec<PathBuf>, CommandError> {
    if let Some(file) = named {
        return Ok(Config::state_folder(&file)?.into_iter().collect());
    }
    let here = Source { plugins: PathBuf::new(), config: None }.file();
    let state = here.map(|file| Config::state_folder(&file)).transpose()?.flatten();
    Ok(all_user_state_dirs().into_iter().chain(state).collect())
}

/// Whether two reports are of the same server.
fn is_same(one: &StatusReport, other: &StatusReport) -> bool {
    let id = |report: &StatusReport| {
        (report.pid, report.since.clone(), report.serving.clone(), report.folder.clone())
    };
    id(one) == id(other)
}

fn read(document: &[u8]) -> anyhow::Result<StatusReport> {
    let report = serde_json::from_slice(document).ok();
    // Documents of older builds have no approval mode under this name.
    report
        .filter(|report: &StatusReport| !report.approval.is_empty())
        .context("sent no valid status document; is it another version of this program?")
}

fn no_servers(states: &[PathBuf]) -> anyhow::Error {
    let states: Vec<String> = states.iter().map(|state| state.join("run").display().to_string()).collect();
    anyhow::anyhow!(
        "no server of yours runs, as far as {} can tell; \
         start one with `plugport serve`, or ask as the user who runs it",
        if states.is_empty() { "an environment without HOME".to_owned() } else { states.join(" or ") }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_document_is_rejected() {
        for text in ["", "5", "{}", r#"{ "approval": "off", "plugins": [7] }"#] {
            let told = format!("{:#}", read(text.as_bytes()).unwrap_err());
            assert!(told.starts_with("sent no valid status document"), "{told}");
        }
        assert_eq!(read(br#"{ "approval": "off", "later": 1 }"#).unwrap().approval, "off");
    }
}
