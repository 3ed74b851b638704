use plugport_sdk::testing::TestClient;
use serde_json::{Value, json};

fn basics(kind: &str) -> Value {
    json!({"kind": kind, "date": "2027-03-01", "guests": 4})
}

#[test]
fn each_form_follows_from_the_one_before() {
    let client = TestClient::new()
        .accepts(basics("dinner"))
        .accepts(json!({"diets": ["vegan", "nut-free"], "budget": 30}))
        .accepts(json!({"right": true, "note": "by the window"}));
    let outcome = client.invoke::<super::plan_event>(json!({"title": "Launch"}));
    let plan = outcome.structured().unwrap();
    assert_eq!(plan["details"]["diets"], json!(["vegan", "nut-free"]));
    assert_eq!((plan["guests"].as_u64(), plan["note"].as_str()), (Some(4), Some("by the window")));
    let asked = client.requests();
    let keys: Vec<_> = asked.iter().map(|request| request.key.clone().unwrap()).collect();
    assert_eq!(keys, ["basics", "details", "confirmation"]);
    let message = asked[2].params["message"].as_str().unwrap();
    assert!(
        message.contains("with 4 people: a dinner, minding vegans, those without nuts, for up to 30.00 each")
    );
    let fields = &asked[0].params["requestedSchema"]["properties"];
    assert_eq!(fields["date"]["format"], "date");
    assert_eq!(fields["guests"]["maximum"], 500);
}

#[test]
fn a_talk_and_a_hike_have_forms_of_their_own() {
    for (kind, details, words) in [
        ("talk", json!({"speaker": "Ada", "recorded": true}), "a talk by Ada, recorded"),
        ("hike", json!({"kilometres": 12.5}), "a hike of 12.5 km."),
    ] {
        let client = TestClient::new().accepts(basics(kind)).accepts(details).accepts(json!({"right": true}));
        let outcome = client.invoke::<super::plan_event>(json!({"title": "Out"}));
        assert!(!outcome.is_error(), "{}", outcome.text());
        assert!(client.requests()[2].params["message"].as_str().unwrap().contains(words));
    }
}

#[test]
fn the_person_can_leave_at_every_step() {
    let leaving = [
        TestClient::new().declines(),
        TestClient::new().accepts(basics("hike")).closes(),
        TestClient::new().accepts(basics("hike")).accepts(json!({"kilometres": 5})).declines(),
    ];
    for client in leaving {
        let outcome = client.invoke::<super::plan_event>(json!({"title": "Out"}));
        assert!(outcome.is_error() && outcome.text().contains("nothing was planned"), "{}", outcome.text());
    }
    let wrong = TestClient::new()
        .accepts(basics("hike"))
        .accepts(json!({"kilometres": 5}))
        .accepts(json!({"right": false}));
    assert!(wrong.invoke::<super::plan_event>(json!({"title": "Out"})).text().contains("start over"));
}

#[test]
fn without_a_person_to_ask_it_says_so() {
    let outcome = TestClient::new().invoke::<super::plan_event>(json!({"title": "Out"}));
    assert!(outcome.is_error() && outcome.text().contains("lacks the capability `elicitation`"));
}
