//! What a tool learns of its call and tells the client, with a test client in the host's place.

use plugport_sdk::ClientInfo;
use plugport_sdk::prelude::*;
use plugport_sdk::serde_json::{Value, json};
use plugport_sdk::testing::{self, LogRecord, ProgressRecord, TestClient};

/// Count to three.
#[tool]
fn count(call: &Call) -> u32 {
    for step in 1..=3 {
        if call.cancelled() {
            call.notice("stopped");
            return step - 1;
        }
        call.progress(f64::from(step), 3.0, format!("step {step}").as_str());
        call.log(Level::Critical, json!({ "step": step }));
    }
    call.progress(4.0, None, None);
    3
}

/// Say who asks.
#[tool]
fn who(call: &Call) -> Vec<Value> {
    vec![call.client().name.clone().into(), call.principal().into(), call.meta().into()]
}

fn record(level: Level, data: Value) -> LogRecord {
    LogRecord { level, logger: None, data }
}

#[test]
fn logs_and_progress_are_recorded() {
    let outcome = testing::invoke::<count>(json!({}));
    assert_eq!(outcome.logs().len(), 3);
    assert_eq!(outcome.logs()[1], record(Level::Critical, json!({"step": 2})));
    let progress = |done, total, message: Option<&str>| ProgressRecord {
        done,
        total,
        message: message.map(str::to_owned),
    };
    assert_eq!(outcome.progress()[0], progress(1.0, Some(3.0), Some("step 1")));
    assert_eq!(outcome.progress()[3], progress(4.0, None, None));
}

#[test]
fn a_client_may_lose_interest() {
    let client = TestClient::new();
    client.cancel();
    let outcome = client.invoke::<count>(json!({}));
    assert_eq!(outcome.structured(), Some(json!(0)));
    assert_eq!(client.logs(), [record(Level::Notice, json!("stopped"))]);
}

#[test]
fn a_client_may_be_anyone() {
    let client = ClientInfo { name: "ide".to_owned(), ..testing::call().client().clone() };
    let meta = json!({"trace": 1}).as_object().unwrap().clone();
    let client = TestClient::new().with_client(client).with_principal("ann").with_meta(meta);
    assert_eq!(client.invoke::<who>(json!({})).structured(), Some(json!(["ide", "ann", {"trace": 1}])));
    let nobody = testing::invoke::<who>(json!({}));
    assert_eq!(nobody.structured(), Some(json!(["test", null, {}])));
}

#[test]
fn a_client_has_the_extensions_that_a_test_gives_it() {
    let (apps, nobody) = ("io.modelcontextprotocol/ui", testing::call());
    assert!(!nobody.client().supports(apps) && nobody.client().extensions.is_empty());
    let client = ClientInfo { extensions: vec![apps.to_owned()], ..nobody.client().clone() };
    let call = TestClient::new().with_client(client).call();
    assert!(call.client().supports(apps) && !call.client().supports("io.modelcontextprotocol"));
}

#[test]
fn a_client_of_a_test_waits_for_calls_that_detach() {
    let call = testing::call();
    assert!(!call.detach("rendering") && !call.detach(None));
}

#[test]
fn every_level_has_a_word() {
    let client = TestClient::new();
    let call = client.call();
    call.debug(1);
    call.info("two");
    call.notice(format_args!("{}", 3));
    call.warning('4');
    call.error("quotes \" and\nlines");
    let expected = [
        record(Level::Debug, json!("1")),
        record(Level::Info, json!("two")),
        record(Level::Notice, json!("3")),
        record(Level::Warning, json!("4")),
        record(Level::Error, json!("quotes \" and\nlines")),
    ];
    assert_eq!(client.logs(), expected);
}

#[test]
fn data_that_cannot_be_json_is_logged_as_the_reason() {
    let client = TestClient::new();
    let impossible = std::collections::BTreeMap::from([(vec![1], 1)]);
    client.call().log(Level::Info, impossible);
    assert_eq!(client.logs(), [record(Level::Info, json!("key must be a string"))]);
}
