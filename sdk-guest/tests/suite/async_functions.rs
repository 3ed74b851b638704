//! `async` functions, which run to their end within their call.

use futures_util::future::{Either, join, join_all, select};
use plugport_sdk::Error;
use plugport_sdk::http::{Failure, Request, Response};
use plugport_sdk::prelude::*;
use plugport_sdk::serde_json::json;
use plugport_sdk::testing::{self, TestClient, invoke};

/// Fetch all.
#[tool]
async fn fetch_all(urls: Vec<String>) -> Result<String, Failure> {
    let answers = join_all(urls.into_iter().map(|url| Request::get(url).send_async())).await;
    let texts: Result<Vec<_>, _> =
        answers.into_iter().map(|answer| answer.map(|answer| answer.text().unwrap_or_default())).collect();
    Ok(texts?.join("\n"))
}

/// Say what there is.
#[tool]
async fn survey(call: &Call) -> Result<String, Error> {
    let titled = call.sample_async("A title?");
    let (title, folders) = join(titled, call.roots_async()).await;
    let more = call.sample_async(CreateMessageRequest::new().key("more").text("And more?")).await?;
    Ok(format!("{}, {}: {}", title?.text(), more.text(), folders?.len()))
}

/// Ask many questions.
#[tool]
async fn questions(call: &Call) -> String {
    let answers = join_all((0..40).map(|n| call.sample_async(format!("{n}?")))).await;
    answers.iter().flatten().map(|answer| answer.text()).collect()
}

/// Ask, and lose interest.
#[tool]
async fn impatient(call: &Call) -> String {
    let asked = std::pin::pin!(call.sample_async("Anybody?"));
    let ready = std::pin::pin!(async { 7 });
    match select(asked, ready).await {
        Either::Left(_) => "answered".to_owned(),
        Either::Right((number, _)) => number.to_string(),
    }
}

/// Wait for what never comes.
#[tool]
async fn stuck() {
    std::future::pending().await
}

/// A greeting.
#[prompt]
async fn greeting(name: String) -> String {
    async { format!("Greet {name}.") }.await
}

/// A note.
#[resource_template("notes://{id}")]
async fn note(id: u8) -> Option<String> {
    (id < 3).then(|| id.to_string())
}

/// Names.
#[complete(prompt = greeting, argument = "name")]
async fn names(value: &str) -> Vec<String> {
    vec![format!("{value}a")]
}

#[test]
fn requests_to_other_hosts_are_awaited_together() {
    testing::answer_http(|request| match request.url() {
        "https://a.test/" => Ok(Response::new(200, "one")),
        "https://b.test/" => Ok(Response::new(200, "two")),
        _ => Err(Failure::TimedOut),
    });
    let both = invoke::<fetch_all>(json!({"urls": ["https://a.test/", "https://b.test/"]}));
    assert_eq!(both.text(), "one\ntwo");
    assert!(invoke::<fetch_all>(json!({"urls": ["https://a.test/", "https://c.test/"]})).is_error());
}

#[test]
fn client_requests_are_awaited_together_and_one_after_the_other() {
    let client = TestClient::new().samples("Folders").samples("and files").has_roots([("file:///a", None)]);
    assert_eq!(client.invoke::<survey>(json!({})).text(), "Folders, and files: 1");
    let keys: Vec<_> = client.requests().into_iter().map(|request| request.key.unwrap()).collect();
    assert_eq!(keys, ["input-1", "input-2", "more"]);
}

#[test]
fn each_of_many_tasks_is_woken() {
    let client = (0..40).fold(TestClient::new(), |client, _| client.samples("x"));
    assert_eq!(client.invoke::<questions>(json!({})).text(), "x".repeat(40));
}

#[test]
fn a_request_that_nobody_awaits_any_more_is_not_sent() {
    let client = TestClient::new().samples("here");
    assert_eq!(client.invoke::<impatient>(json!({})).text(), "7");
    assert_eq!(client.requests(), []);
}

#[test]
fn an_error_of_a_request_is_that_of_the_function() {
    let outcome = invoke::<survey>(json!({}));
    assert_eq!(outcome.result(), Err(&Error::MissingCapability("sampling".to_owned())));
}

#[test]
fn what_never_comes_is_an_error() {
    let outcome = invoke::<stuck>(json!({}));
    assert!(outcome.text().contains("cannot happen within its call"), "{outcome:?}");
}

#[test]
fn prompts_resources_and_completions_may_be_async_too() {
    assert_eq!(testing::get_prompt::<greeting>([("name", "Ann")]).unwrap().text(), "Greet Ann.");
    let contents = testing::read_template::<note>("notes://2", [("id", "2")]).unwrap();
    assert_eq!(contents[0].as_text(), Some("2"));
    assert!(matches!(testing::read_template::<note>("notes://9", [("id", "9")]), Err(Error::NotFound(_))));
    assert_eq!(testing::complete::<names>("Ann", []).unwrap().values, ["Anna"]);
}
