use plugport_sdk::notify::Change;
use plugport_sdk::resources::ResourceContents;
use plugport_sdk::testing::{Outcome, changes, complete, get_prompt, invoke, read, read_template};
use serde_json::{Value, json};

use super::*;

fn value(outcome: Outcome) -> Value {
    assert!(!outcome.is_error(), "{}", outcome.text());
    outcome.structured().unwrap()
}

fn error_text(outcome: Outcome) -> String {
    assert!(outcome.is_error(), "{}", outcome.text());
    outcome.text()
}

fn write(title: &str, text: &str, tags: &[&str]) -> Value {
    value(invoke::<write_note>(json!({"title": title, "text": text, "tags": tags})))
}

fn note(slug: &str) -> Result<Vec<ResourceContents>, Error> {
    read_template::<by_slug>(&format!("notes:///{slug}"), [("slug", slug)])
}

fn text(slug: &str) -> String {
    note(slug).unwrap()[0].as_text().unwrap().to_owned()
}

fn updated(uri: &str) -> Change {
    Change::Resource(uri.to_owned())
}

/// Titles, in the order of the answer.
fn found(arguments: Value) -> Vec<String> {
    let found = value(invoke::<find_notes>(arguments));
    found["notes"].as_array().unwrap().iter().map(|note| note["title"].as_str().unwrap().to_owned()).collect()
}

/// Puts a note into the store as it was this long ago.
fn aged(title: &str, hours: i64) {
    let (slug, note) = Note::new(title, &["old".to_owned()]).unwrap();
    let note = Note { updated: Timestamp::now() - SignedDuration::from_hours(hours), ..note };
    plugport_sdk::kv::open().unwrap().set_json(&format!("note/{}", slug.as_str()), &note).unwrap();
}

#[test]
fn a_note_that_is_written_can_be_read() {
    let written = write("  Shopping\nlist ", "- milk\n- eggs", &["Home", "to do", "home"]);
    assert_eq!(written["uri"], "notes:///shopping-list");
    assert_eq!(written["title"], "Shopping list");
    assert_eq!(written["tags"], json!(["home", "to-do"]));
    assert_eq!((&written["excerpt"], &written["created"]), (&json!("- milk"), &json!(true)));
    assert!(written["updated"].as_str().unwrap().parse::<Timestamp>().is_ok(), "{written}");
    assert_eq!(text("shopping-list"), "- milk\n- eggs");
    assert_eq!(note("shopping-list").unwrap()[0].mime_type.as_deref(), Some("text/markdown"));
    for none in ["Shopping-list", "eggs", "tags/home", "\0"] {
        assert!(matches!(note(none), Err(Error::NotFound(_))), "{none}");
    }
}

#[test]
fn letters_of_any_language_name_a_note() {
    let written = write("Über 東京!", "x", &[]);
    assert_eq!(written["uri"], "notes:///%C3%BCber-%E6%9D%B1%E4%BA%AC");
    assert_eq!(text("über-東京"), "x");
    let longest = write(&"𝐀".repeat(75), "x", &[]);
    assert!(longest["uri"].as_str().unwrap().len() <= 2_048);
}

#[test]
fn writing_again_replaces_the_text_and_keeps_tags_that_are_not_given() {
    write("Plan", "one", &["work"]);
    let again = value(invoke::<write_note>(json!({"title": "PLAN", "text": "two"})));
    assert_eq!((&again["title"], &again["created"]), (&json!("PLAN"), &json!(false)));
    assert_eq!((&again["tags"], text("plan")), (&json!(["work"]), "two".to_owned()));
    assert_eq!(write("Plan", "three", &[])["tags"], json!([]));
    assert_eq!(listed().unwrap().len(), 1);
}

#[test]
fn a_note_never_takes_the_place_of_another_with_the_same_uri() {
    write("C", "the language", &[]);
    changes();
    let rejected = error_text(invoke::<write_note>(json!({"title": "C++", "text": "another"})));
    assert!(rejected.starts_with("`C++` would replace the note `C`"), "{rejected}");
    assert_eq!((text("c"), changes()), ("the language".to_owned(), vec![]));
}

#[test]
fn what_is_appended_begins_a_line() {
    write("Log", "", &[]);
    for (name, piece) in [("log", "one"), ("Log", "two\n"), ("notes:///log", "three")] {
        let appended = value(invoke::<append_note>(json!({"note": name, "text": piece})));
        assert_eq!(appended["created"], false);
    }
    assert_eq!(text("log"), "one\ntwo\nthree");
}

#[test]
fn a_note_that_others_append_to_keeps_every_piece() {
    write("Log", "start", &[]);
    let book = Notebook::open().unwrap();
    let slug = Slug::of("Log").unwrap();
    let fresh = book.get(&slug).unwrap().unwrap();
    let disturbed = std::cell::Cell::new(false);
    // Another call appends between reading and writing, and a third deletes the note before a fourth appends.
    book.put(slug.clone(), &fresh, |old| {
        if !disturbed.replace(true) {
            Notebook::open().unwrap().append("Log", "theirs").unwrap();
        }
        old.with_more("mine")
    })
    .unwrap();
    assert_eq!(text("log"), "start\ntheirs\nmine");
    book.delete("Log").unwrap();
    let (_, note, created) = book.put(slug, &fresh, |old| old.with_more("never")).unwrap();
    assert_eq!((note.text.as_str(), created), ("start", true));
}

#[test]
fn an_unknown_note_is_answered_with_the_closest_titles() {
    let unknown = |name: &str| error_text(invoke::<delete_note>(json!({ "note": name })));
    assert_eq!(unknown("Shoping"), "there is no note `Shoping`; `find_notes` lists what there is");
    write("Shopping list", "", &[]);
    write("Shipping", "", &[]);
    write("Zebra", "", &[]);
    let near = "the closest titles are `Shopping list`, `Shipping`";
    assert_eq!(unknown("Shoping"), format!("there is no note `Shoping`; {near}"));
    let appended = error_text(invoke::<append_note>(json!({"note": "notes:///shoping", "text": "x"})));
    assert_eq!(appended, format!("there is no note `notes:///shoping`; {near}"));
}

#[test]
fn what_cannot_be_kept_is_explained() {
    let write = |title: &str, text: &str, tags: Value| {
        error_text(invoke::<write_note>(json!({"title": title, "text": text, "tags": tags})))
    };
    for title in ["", " \n", "?!", "x".repeat(301).as_str(), format!("x{}", "!".repeat(300)).as_str()] {
        assert!(write(title, "", json!([])).starts_with("give the note a title with a letter"), "{title}");
    }
    assert!(write("x", "", json!(["#"])).starts_with("`#` cannot be a tag;"));
    let long = "x".repeat((64 << 10) + 1);
    assert!(write("x", &long, json!([])).starts_with("the note would be longer than 64 KiB;"));
    assert!(Notebook::open().unwrap().slugs().unwrap().is_empty());
    self::write("x", &long[1..], &[]);
    let more = error_text(invoke::<append_note>(json!({"note": "x", "text": "y"})));
    assert!(more.starts_with("the note would be longer"), "{more}");
    assert_eq!(text("x").len(), 64 << 10);
}

#[test]
fn a_missing_grant_and_a_full_store_are_told_apart() {
    let denied = Fault::from(Error::Denied("no".to_owned()));
    let told = denied.to_string();
    assert!(told.starts_with("no store is granted") && !told.contains("kv ="), "{told}");
    assert!(matches!(Error::from(denied), Error::Denied(_)));
    let full = Error::Internal("over quota".to_owned());
    let fault = Fault::from(full.clone());
    assert_eq!(std::error::Error::source(&fault).unwrap().to_string(), "over quota");
    assert_eq!(Error::from(fault), full);
}

#[test]
fn notes_are_found_by_all_words_and_the_title_counts_most() {
    write("Recipes", "bread and SOUP", &["food"]);
    write("Soup", "carrots", &[]);
    write("Travel", "no food", &["soup"]);
    assert_eq!(found(json!({"query": "soup"})), ["Soup", "Travel", "Recipes"]);
    assert_eq!(found(json!({"query": "Soup bread"})), ["Recipes"]);
    assert_eq!(found(json!({"query": "soup", "tag": "Food"})), ["Recipes"]);
    assert_eq!(found(json!({"query": "soup nowhere"})), Vec::<String>::new());
    aged("Ancient", 1_000);
    assert_eq!(found(json!({})).last().unwrap(), "Ancient");
    let hit = value(invoke::<find_notes>(json!({"query": "bread"})));
    assert_eq!((&hit["total"], &hit["notes"][0]["excerpt"]), (&json!(1), &json!("bread and SOUP")));
}

#[test]
fn an_answer_shows_a_part_of_many_notes_and_counts_all() {
    (0..60).for_each(|number| aged(&format!("Note {number}"), number));
    let all = value(invoke::<find_notes>(json!({})));
    assert_eq!((all["notes"].as_array().unwrap().len(), &all["total"]), (50, &json!(60)));
    assert_eq!(all["notes"][0]["title"], "Note 0");
    assert_eq!(get_prompt::<weekly_review>([]).unwrap().messages.len(), 51);
}

#[test]
fn every_note_is_listed_and_in_the_index() {
    write("[b]", "", &["x", "y"]);
    write("A", "", &[]);
    let resources = listed().unwrap();
    let uris: Vec<_> = resources.iter().map(|it| (it.uri.as_str(), it.title.as_deref().unwrap())).collect();
    assert_eq!(uris, [("notes:///a", "A"), ("notes:///b", "[b]")]);
    let shown = read::<index>(INDEX).unwrap()[0].as_text().unwrap().to_owned();
    assert_eq!(shown, "# All notes\n\n- [A](notes:///a)\n- [\\[b\\]](notes:///b) #x #y\n");
}

#[test]
fn clients_are_told_of_what_they_see_differently_and_of_nothing_else() {
    let (list, page) = (|| Change::Resources, || updated(INDEX));
    write("Plan", "one", &["work"]);
    assert_eq!(changes(), [list(), page(), updated("notes:///plan")]);
    write("Plan", "two", &["work"]);
    assert_eq!(changes(), [updated("notes:///plan")]);
    write("Plan", "two", &["home"]);
    assert_eq!(changes(), [page()]);
    write("PLAN", "two", &["home"]);
    assert_eq!(changes(), [list(), page()]);
    value(invoke::<append_note>(json!({"note": "plan", "text": "more"})));
    assert_eq!(changes(), [updated("notes:///plan")]);
    assert_eq!(value(invoke::<delete_note>(json!({"note": "plan"})))["uri"], "notes:///plan");
    assert_eq!(changes(), [list(), page(), updated("notes:///plan")]);
    assert!(listed().unwrap().is_empty());
}

#[test]
fn prompts_embed_the_notes() {
    write("Plan", "buy a boat", &["work"]);
    aged("Last week", 24 * 7 + 1);
    aged("Six days ago", 24 * 6);
    let summary = get_prompt::<summarize_note>([("note", "plan")]).unwrap();
    assert!(summary.text().starts_with("Summarize my note “Plan”"), "{}", summary.text());
    let expected = Content::text_resource("notes:///plan", "text/markdown", "buy a boat");
    assert_eq!(summary.messages[1].content, expected);
    let review = get_prompt::<weekly_review>([]).unwrap();
    assert_eq!((review.messages.len(), &review.messages[1].content), (3, &expected));
    let tagged = get_prompt::<weekly_review>([("tag", "Work")]).unwrap();
    assert_eq!((tagged.messages.len(), &tagged.messages[1].content), (2, &expected));
    for rejected in
        [get_prompt::<summarize_note>([("note", "x")]), get_prompt::<weekly_review>([("tag", "x")])]
    {
        assert!(matches!(rejected, Err(Error::InvalidParams(_))), "{rejected:?}");
    }
}

#[test]
fn slugs_titles_and_tags_are_completed() {
    write("Road trip", "", &["travel", "fun"]);
    write("Trip report", "", &["travel"]);
    assert_eq!(complete::<slugs>("trip", []).unwrap().values, ["trip-report", "road-trip"]);
    assert_eq!(complete::<titles>("ro", []).unwrap().values[0], "Road trip");
    assert_eq!(complete::<tags>("", []).unwrap().values, ["fun", "travel"]);
}
