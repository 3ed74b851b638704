use plugport_sdk::Error;
use plugport_sdk::testing::TestClient;
use serde_json::{Value, json};

fn run(client: &TestClient, arguments: Value) -> (bool, String) {
    let outcome = client.invoke::<super::summarize>(arguments);
    (outcome.is_error(), outcome.text())
}

#[test]
fn a_short_text_takes_one_request() {
    let client = TestClient::new().samples("In short.");
    let asked = json!({"text": "A long story.", "style": "bullets", "words": 50});
    assert_eq!(run(&client, asked), (false, "In short.".to_owned()));
    let [request] = client.requests().try_into().unwrap();
    assert_eq!(request.params["maxTokens"], 150);
    let prompt = request.params["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
    assert!(
        prompt.contains("list of points, about 50 words")
            && prompt.contains("<text>\nA long story.\n</text>")
    );
}

#[test]
fn a_long_text_is_read_in_pieces_with_progress() {
    let text = "A sentence of the story. ".repeat(2_000);
    let pieces = super::pieces::cut(&text, super::PIECE).len();
    assert!(pieces >= 4);
    let mut client = TestClient::new();
    for piece in 0..pieces {
        client = client.samples(format!("point {piece}"));
    }
    client = client.samples("All in all.");
    assert_eq!(run(&client, json!({"text": text})), (false, "All in all.".to_owned()));
    let asked = client.requests();
    assert_eq!(asked.len(), pieces + 1);
    let last = asked[pieces].params["messages"][0]["content"]["text"].as_str().unwrap();
    assert!((0..pieces).all(|piece| last.contains(&format!("point {piece}"))));
    let progress = client.progress();
    assert_eq!(progress.len(), pieces + 1);
    assert_eq!(progress.last().unwrap().total, Some(progress.len() as f64));
    let keys: std::collections::HashSet<_> =
        asked.iter().take(pieces).map(|request| request.key.clone()).collect();
    assert_eq!(keys.len(), pieces);
}

#[test]
fn what_cannot_be_summarized_says_what_to_do() {
    let (failed, why) = run(&TestClient::new(), json!({"text": "  "}));
    assert!(failed && why.contains("empty"));
    let (failed, why) = run(&TestClient::new(), json!({"text": "x".repeat(super::LONGEST + 1)}));
    assert!(failed && why.contains("in parts"));
    let (failed, why) = run(&TestClient::new(), json!({"text": "A story."}));
    assert!(failed && why.contains("lacks the capability `sampling`"), "{why}");
    let refusing = TestClient::new().samples_with(Err(Error::Rejected("not today".to_owned())));
    let (failed, why) = run(&refusing, json!({"text": "A story."}));
    assert!(failed && why.contains("not today"), "{why}");
}
