//! Prompts, got as the host gets them, and the completion of their arguments.

use plugport_sdk::completions::{Completer, Completion, Target, rank};
use plugport_sdk::prelude::*;
use plugport_sdk::prompts::PromptResult;
use plugport_sdk::testing::{self, TestClient};
use plugport_sdk::{Prompt, Role};

/// Translate a text.
#[prompt(title = "Translation", extra = r#"{"icons": []}"#)]
fn translate(
    /// What to translate.
    text: String,
    /// Into which language.
    #[arg(rename = "to", default = "English")]
    language: String,
    /// How often to try.
    tries: Option<u8>,
) -> String {
    format!("{text} in {language}, {tries:?}")
}

/// Talk.
#[prompt(name = "small-talk")]
fn talk(call: &Call) -> Result<Vec<PromptMessage>, String> {
    call.info("talking");
    Ok(vec![PromptMessage::user("Hi"), PromptMessage::assistant(Content::image([1], "image/png"))])
}

/// Fail.
#[prompt]
fn fail(call: &Call) -> Result<PromptResult, Error> {
    let answer = call.sample("?")?;
    Ok(PromptResult::new([PromptMessage::user(answer.text())]).description("answered"))
}

/// One note.
#[resource_template("notes://{folder}/{id}")]
fn note(folder: String, id: String) -> String {
    folder + &id
}

#[complete(prompt = translate, argument = "to")]
fn languages(value: &str) -> Completion {
    rank(value, ["German", "English", "French"])
}

#[complete(template = note, argument = "id")]
fn ids(call: &Call, _: &CompletionContext, value: &str) -> Result<Vec<String>, Error> {
    match call.client().roots {
        true => Ok(vec![value.to_owned()]),
        false => Err(Error::Denied("no".to_owned())),
    }
}

#[complete(prompt = translate, argument = "text")]
fn texts(context: &CompletionContext, value: &str) -> impl Iterator<Item = &'static str> {
    let french = context.get("to") == Some("French");
    let all = if french { ["bonjour", "au revoir"] } else { ["hello", "bye"] };
    let fitting: Vec<_> = all.into_iter().filter(|text| text.starts_with(value)).collect();
    fitting.into_iter()
}

#[test]
fn a_prompt_is_described_by_its_function() {
    let prompt = translate::describe();
    assert_eq!((prompt.name.as_str(), prompt.title.as_deref()), ("translate", Some("Translation")));
    assert_eq!(prompt.description.as_deref(), Some("Translate a text."));
    assert_eq!(prompt.extra.as_deref(), Some(r#"{"icons": []}"#));
    let arguments = prompt.arguments.iter();
    let arguments: Vec<_> = arguments.map(|it| (&*it.name, it.description.as_deref(), it.required)).collect();
    assert_eq!(
        arguments,
        [
            ("text", Some("What to translate."), true),
            ("to", Some("Into which language."), false),
            ("tries", Some("How often to try."), false)
        ]
    );
    assert_eq!(talk::NAME, "small-talk");
    assert_eq!(talk::describe().arguments, []);
}

#[test]
fn arguments_are_read_from_texts() {
    let text = |arguments: &[(&'static str, &'static str)]| {
        testing::get_prompt::<translate>(arguments.iter().copied()).map(|prompt| prompt.text())
    };
    assert_eq!(text(&[("text", "a")]).as_deref(), Ok("a in English, None"));
    let all = [("tries", "3"), ("to", "French"), ("text", "a")];
    assert_eq!(text(&all).as_deref(), Ok("a in French, Some(3)"));
    let rejected = |arguments| text(arguments).unwrap_err().to_string();
    assert_eq!(rejected(&[]), "the argument `text` is missing");
    assert!(rejected(&[("text", ""), ("tries", "x")]).starts_with("the argument `tries` cannot be used: "));
    let unknown = rejected(&[("text", ""), ("in", "x")]);
    assert_eq!(unknown, "there is no argument `in`; this prompt takes text, to, tries");
}

#[test]
fn messages_are_those_that_the_function_returns() {
    let client = TestClient::new();
    let said = client.get_prompt::<talk>([]).unwrap();
    let roles: Vec<_> = said.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant]);
    assert_eq!(said.text(), "Hi");
    assert_eq!(client.logs()[0].data, "talking");
    let one = testing::get_prompt::<translate>([("text", "a")]).unwrap();
    assert_eq!((one.messages.len(), one.messages[0].role), (1, Role::User));
}

#[test]
fn a_prompt_may_ask_and_fail() {
    let answered = TestClient::new().samples("yes").get_prompt::<fail>([]).unwrap();
    assert_eq!((answered.text().as_str(), answered.description.as_deref()), ("yes", Some("answered")));
    let lacking = Error::MissingCapability("sampling".to_owned());
    assert_eq!(testing::get_prompt::<fail>([]), Err(lacking));
}

#[test]
fn completers_know_whose_argument_they_complete() {
    assert_eq!((languages::TARGET, languages::ARGUMENT), (Target::Prompt("translate"), "to"));
    assert_eq!((ids::TARGET, ids::ARGUMENT), (Target::Template("notes://{folder}/{id}"), "id"));
}

#[test]
fn suggestions_are_those_that_the_function_returns() {
    let suggested = testing::complete::<languages>("fr", []).unwrap();
    assert_eq!((suggested.values, suggested.total), (vec!["French".to_owned()], Some(1)));
    let known = [("to", "French")];
    assert_eq!(testing::complete::<texts>("b", known).unwrap().values, ["bonjour"]);
    assert_eq!(testing::complete::<texts>("b", []).unwrap().values, ["bye"]);
    assert_eq!(testing::complete::<ids>("x", []), Err(Error::Denied("no".to_owned())));
    assert_eq!(TestClient::new().has_roots([]).complete::<ids>("x", []).unwrap().values, ["x"]);
}

plugport_sdk::export! {
    resources: [note],
    prompts: [translate, talk, fail],
    completions: [languages, ids, texts],
}
