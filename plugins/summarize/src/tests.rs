use plugport_sdk::Error;
use plugport_sdk::testing::Recorder;
use serde_json::{Value, json};

fn run(recorder: &Recorder, arguments: Value) -> (bool, String) {
    let outcome = recorder.invoke::<super::summarize>(arguments);
    (outcome.is_error(), outcome.text())
}

#[test]
fn a_short_text_takes_one_question() {
    let recorder = Recorder::new().samples("In short.");
    let asked = json!({"text": "A long story.", "style": "bullets", "words": 50});
    assert_eq!(run(&recorder, asked), (false, "In short.".to_owned()));
    let [question] = recorder.asked().try_into().unwrap();
    assert_eq!(question.params["maxTokens"], 150);
    let prompt = question.params["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
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
    let mut recorder = Recorder::new();
    for piece in 0..pieces {
        recorder = recorder.samples(format!("point {piece}"));
    }
    recorder = recorder.samples("All in all.");
    assert_eq!(run(&recorder, json!({"text": text})), (false, "All in all.".to_owned()));
    let asked = recorder.asked();
    assert_eq!(asked.len(), pieces + 1);
    let last = asked[pieces].params["messages"][0]["content"]["text"].as_str().unwrap();
    assert!((0..pieces).all(|piece| last.contains(&format!("point {piece}"))));
    let progress = recorder.progress();
    assert_eq!(progress.len(), pieces + 1);
    assert_eq!(progress.last().unwrap().total, Some(progress.len() as f64));
    let keys: std::collections::HashSet<_> =
        asked.iter().take(pieces).map(|asking| asking.key.clone()).collect();
    assert_eq!(keys.len(), pieces);
}

#[test]
fn what_cannot_be_summarized_says_what_to_do() {
    let (failed, why) = run(&Recorder::new(), json!({"text": "  "}));
    assert!(failed && why.contains("empty"));
    let (failed, why) = run(&Recorder::new(), json!({"text": "x".repeat(super::LONGEST + 1)}));
    assert!(failed && why.contains("in parts"));
    let (failed, why) = run(&Recorder::new(), json!({"text": "A story."}));
    assert!(failed && why.contains("lacks the capability `sampling`"), "{why}");
    let refusing = Recorder::new().samples_with(Err(Error::Rejected("not today".to_owned())));
    let (failed, why) = run(&refusing, json!({"text": "A story."}));
    assert!(failed && why.contains("not today"), "{why}");
}
