//! Prints one line for every call, from the audit of the server: how the call ended, how long it took and what it used.
//! Authors see at once what a change costs.

use std::time::Duration;

use plugport_common::{console, truncate};
use serde::Deserialize;
use serde_json::Value;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::audit_tail::AuditTail;

/// How often the audit is read.
const PERIOD: Duration = Duration::from_millis(100);

/// Maximum length of a line in bytes.
const MAX_LINE: usize = 500;

/// Prints calls until it is stopped.
pub(super) struct CallTimings {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl CallTimings {
    /// Starts to print the calls that are added to this audit.
    pub(super) fn start(audit: AuditTail) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(follow(audit, stop.clone()));
        Self { stop, task }
    }

    /// Prints the remaining calls, and ends.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the audit could not be followed");
        }
    }
}

async fn follow(mut tail: AuditTail, stop: CancellationToken) {
    loop {
        let stopped = tokio::select! {
            () = stop.cancelled() => true,
            () = tokio::time::sleep(PERIOD) => false,
        };
        let reading = spawn_blocking(move || {
            let lines = tail.lines();
            (tail, lines)
        });
        let Ok((returned, lines)) = reading.await else { return };
        tail = returned;
        lines.iter().filter_map(|line| format_call(line)).for_each(|line| console::eprint(&line));
        if stopped {
            return;
        }
    }
}

/// The audit record of a call.
#[derive(Deserialize)]
struct AuditedCall {
    event: String,
    function: String,
    name: Option<String>,
    outcome: String,
    count: Option<u64>,
    fuel: u64,
    elapsed_us: u64,
    /// Details of some outcomes.
    limit: Option<String>,
    value: Option<Value>,
    reason: Option<String>,
    code: Option<i64>,
}

/// The line to print for a line of the audit, if that is about a call.
fn format_call(line: &str) -> Option<String> {
    let call: AuditedCall =
        serde_json::from_str(line).ok().filter(|call: &AuditedCall| call.event == "call")?;
    let name = match call.name.as_deref() {
        // A listing, which the server itself requests.
        Some("") => String::new(),
        name => format!(" {}", name.unwrap_or("others")),
    };
    let outcome = outcome(&call);
    let cost = match call.count {
        Some(count) => format!("{} times", grouped(count)),
        None => format!("{}  {} fuel", duration(call.elapsed_us), grouped(call.fuel)),
    };
    // The cost stands before the reason, which may be long.
    let line = match outcome.split_once(": ") {
        Some((what, why)) => {
            truncate(MAX_LINE, format_args!("{}{name}  {what}  {cost}  {why}", call.function))
        }
        None => truncate(MAX_LINE, format_args!("{}{name}  {outcome}  {cost}", call.function)),
    };
    Some(line)
}

fn outcome(call: &AuditedCall) -> String {
    let reason = call.reason.as_deref().unwrap_or_default();
    match call.outcome.as_str() {
        "error" => "error: the plugin said that it failed".to_owned(),
        "limit" => {
            let limit = call.limit.as_deref().unwrap_or_default();
            let value = call.value.as_ref().map(Value::to_string).unwrap_or_default();
            format!("limit: hit {limit} = {value}")
        }
        "trapped" => format!("trapped: {reason}"),
        "invalid_result" => format!("invalid_result: {reason}"),
        "exited" => format!("exited: with code {}", call.code.unwrap_or_default()),
        "busy" => "busy: rejected before it began".to_owned(),
        "quarantined" => "quarantined: rejected before it began, since calls kept failing".to_owned(),
        "host" => "host: the server failed, as its log says".to_owned(),
        other => other.to_owned(),
    }
}

/// Formats microseconds for people.
pub(super) fn duration(us: u64) -> String {
    let ms = us as f64 / 1e3;
    match us {
        0..1_000_000 => format!("{ms:.1} ms"),
        _ => format!("{:.1} s", ms / 1e3),
    }
}

/// A number with commas between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(more: Value) -> String {
        let mut line = json!({ "time": "2026-11-21T00:00:00.000000Z", "event": "call", "plugin": "p",
            "digest": "sha256:0", "function": "tools/call", "name": "add", "caller": "127.0.0.1",
            "outcome": "ok", "fuel": 12_345,
            "elapsed_us": 1_234, "bytes_in": 2, "bytes_out": 1 });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line.to_string()
    }

    #[test]
    fn a_call_is_one_line_with_what_it_cost() {
        for (more, expected) in [
            (json!({}), "tools/call add  ok  1.2 ms  12,345 fuel"),
            (json!({ "function": "listing", "name": "" }), "listing  ok  1.2 ms  12,345 fuel"),
            (json!({ "elapsed_us": 2_000_000, "fuel": 0 }), "tools/call add  ok  2.0 s  0 fuel"),
            (
                json!({ "outcome": "error" }),
                "tools/call add  error  1.2 ms  12,345 fuel  the plugin said that it failed",
            ),
            (
                json!({ "outcome": "limit", "limit": "wall_ms", "value": 300 }),
                "tools/call add  limit  1.2 ms  12,345 fuel  hit wall_ms = 300",
            ),
            (
                json!({ "outcome": "trapped", "reason": "it panicked: at x" }),
                "tools/call add  trapped  1.2 ms  12,345 fuel  it panicked: at x",
            ),
            (
                json!({ "outcome": "exited", "code": 3 }),
                "tools/call add  exited  1.2 ms  12,345 fuel  with code 3",
            ),
            (
                json!({ "outcome": "busy", "count": 1_234_567, "name": null, "caller": null }),
                "tools/call others  busy  1,234,567 times  rejected before it began",
            ),
            (
                json!({ "outcome": "cancelled", "later": true }),
                "tools/call add  cancelled  1.2 ms  12,345 fuel",
            ),
        ] {
            assert_eq!(format_call(&line(more)).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_about_no_call_is_not_told_and_what_is_long_is_cut() {
        assert_eq!(format_call(&line(json!({ "event": "limit" }))), None);
        assert_eq!(format_call(r#"{"time":"x","event":"load","plugin":"p"}"#), None);
        assert_eq!(format_call("{\"torn"), None);
        let long = format_call(&line(json!({ "name": "n".repeat(2_000) }))).unwrap();
        assert!(long.len() < MAX_LINE + 5 && long.ends_with('…'), "{long}");
    }

    #[test]
    fn numbers_are_for_people() {
        let shown: Vec<_> = [0, 999, 1_000, 12_345, 1_000_000].into_iter().map(grouped).collect();
        assert_eq!(shown, ["0", "999", "1,000", "12,345", "1,000,000"]);
        assert_eq!([0, 50, 999_900, 1_250_000].map(duration), ["0.0 ms", "0.1 ms", "999.9 ms", "1.2 s"]);
    }
}
