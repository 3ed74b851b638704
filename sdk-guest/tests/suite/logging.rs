//! The crates `log` and `tracing` speak to the client while a tool runs.

use plugport_sdk::prelude::*;
use plugport_sdk::serde_json::json;
use plugport_sdk::testing;

/// Log at every level.
#[cfg(feature = "log")]
#[tool]
fn with_log() {
    log::error!("one");
    log::warn!(target: "elsewhere", "two {}", 2);
    log::info!("three");
    log::debug!("four");
    log::trace!("five");
}

/// Run another tool in between.
#[cfg(feature = "log")]
#[tool]
fn nested() -> usize {
    log::info!("before");
    let inner = testing::invoke::<with_log>(json!({})).logs().len();
    log::info!("after");
    inner
}

/// Log at every level, with fields.
#[cfg(feature = "tracing")]
#[tool]
fn with_tracing() {
    let _span = tracing::info_span!("around", name = "x").entered();
    tracing::error!("one");
    tracing::warn!(count = 2, ratio = 0.5, who = "me", what = ?Some(1), yes = true, "two");
    tracing::info!(target: "elsewhere", number = 3);
    tracing::trace!("five");
}

#[cfg(feature = "log")]
#[test]
fn records_go_to_the_call_that_runs() {
    log::info!("nobody listens");
    let logs = testing::invoke::<with_log>(json!({})).logs();
    log::info!("nobody listens");
    let levels: Vec<_> = logs.iter().map(|record| record.level).collect();
    assert_eq!(levels, [Level::Error, Level::Warning, Level::Info, Level::Debug]);
    let second = testing::LogRecord {
        level: Level::Warning,
        logger: Some("elsewhere".to_owned()),
        data: json!("two 2"),
    };
    assert_eq!(logs[1], second);
    assert_eq!(logs[0].logger.as_deref(), Some(module_path!()));
}

#[cfg(feature = "log")]
#[test]
fn a_call_within_a_call_has_a_log_of_its_own() {
    let outcome = testing::invoke::<nested>(json!({}));
    assert_eq!(outcome.structured(), Some(json!(4)));
    assert_eq!(outcome.logs().len(), 2);
}

#[cfg(feature = "tracing")]
#[test]
fn events_go_to_the_call_that_runs() {
    let logs = testing::invoke::<with_tracing>(json!({})).logs();
    assert_eq!(logs.len(), 3, "{logs:?}");
    assert_eq!((logs[0].level, &logs[0].data), (Level::Error, &json!("one")));
    let fields =
        json!({"message": "two", "count": 2, "ratio": 0.5, "who": "me", "what": "Some(1)", "yes": true});
    assert_eq!((logs[1].level, &logs[1].data), (Level::Warning, &fields));
    assert_eq!(logs[2].logger.as_deref(), Some("elsewhere"));
    assert_eq!(logs[2].data, json!({"number": 3}));
}
