//! Resources and templates, read as the host reads them.

use plugport_sdk::Resource;
use plugport_sdk::prelude::*;
use plugport_sdk::resources::ResourceContents;
use plugport_sdk::testing::{self, TestClient};

/// All notes.
#[resource("notes://all", title = "Notes", extra = r#"{"size": 3}"#)]
fn all(call: &Call) -> String {
    call.info("reading");
    "a\nb".to_owned()
}

/// A picture.
#[resource("notes://picture", name = "The picture", mime_type = "image/png")]
fn picture() -> Vec<u8> {
    vec![1, 2]
}

/// Figures.
#[resource("notes://figures")]
fn figures() -> Result<Json<Vec<u8>>, String> {
    Ok(Json(vec![1, 2]))
}

/// Two things.
#[resource("notes://parts")]
fn parts() -> Vec<Contents> {
    vec![Contents::text("x").uri("notes://parts/1").mime_type("text/csv"), Contents::bytes([7])]
}

/// What is not there.
#[resource("notes://broken")]
fn broken() -> Result<&'static str, std::fmt::Error> {
    Err(std::fmt::Error)
}

/// One note.
#[resource_template("notes://note/{id}{?part,limit}", mime_type = "text/markdown", list = list_notes)]
fn note(id: u32, part: Option<String>, #[arg(default = 9)] limit: u8) -> Option<String> {
    (id < 100).then(|| format!("{id} {part:?} {limit}"))
}

fn list_notes() -> Result<Vec<ResourceInfo>, String> {
    Ok(vec![ResourceInfo::new("notes://note/1", "one").title("One").mime_type("text/markdown")])
}

/// A file.
#[resource_template("file:///{+path}")]
fn file(#[arg(rename = "path")] file: String, call: &Call) -> Result<String, Error> {
    match call.client().roots {
        true => Ok(file),
        false => Err(Error::Denied("no roots".to_owned())),
    }
}

fn only(contents: Result<Vec<ResourceContents>, Error>) -> ResourceContents {
    let mut contents = contents.unwrap();
    assert_eq!(contents.len(), 1);
    contents.remove(0)
}

#[test]
fn a_resource_is_described_by_its_attribute_and_its_type() {
    let info = all::list().unwrap().remove(0);
    assert_eq!((info.uri.as_str(), info.name.as_str()), ("notes://all", "all"));
    assert_eq!((info.title.as_deref(), info.description.as_deref()), (Some("Notes"), Some("All notes.")));
    assert_eq!(info.mime_type.as_deref(), Some("text/plain"));
    assert_eq!(info.extra.as_deref(), Some(r#"{"size": 3}"#));
    assert_eq!(picture::list().unwrap()[0].name, "The picture");
    assert_eq!(picture::list().unwrap()[0].mime_type.as_deref(), Some("image/png"));
    assert_eq!(figures::list().unwrap()[0].mime_type.as_deref(), Some("application/json"));
    assert_eq!(parts::list().unwrap()[0].mime_type, None);
    assert!(all::template().is_none());
}

#[test]
fn contents_have_the_uri_and_the_type_of_their_resource() {
    let client = TestClient::new();
    let text = only(client.read::<all>("notes://all"));
    assert_eq!((text.as_text(), text.mime_type.as_deref()), (Some("a\nb"), Some("text/plain")));
    assert_eq!(client.logs()[0].data, "reading");
    let bytes = only(testing::read::<picture>("notes://picture"));
    assert_eq!((bytes.as_bytes(), bytes.mime_type.as_deref()), (Some(&[1, 2][..]), Some("image/png")));
    assert_eq!(only(testing::read::<figures>("notes://figures")).as_text(), Some("[1,2]"));
    let both = testing::read::<parts>("notes://parts").unwrap();
    assert_eq!((both[0].uri.as_str(), both[0].mime_type.as_deref()), ("notes://parts/1", Some("text/csv")));
    assert_eq!(both[1].uri, "notes://parts");
    assert_eq!(both[1].mime_type.as_deref(), Some("application/octet-stream"));
}

#[test]
fn an_error_is_internal_unless_it_is_the_crates_own() {
    assert!(matches!(testing::read::<broken>("notes://broken"), Err(Error::Internal(_))));
    assert_eq!(
        testing::read_template::<file>("file:///a", [("path", "a")]),
        Err(Error::Denied("no roots".to_owned()))
    );
}

#[test]
fn a_template_gets_its_variables() {
    let read = |uri, variables: &[_]| only(testing::read_template::<note>(uri, variables.iter().copied()));
    let part = read("notes://note/7?part=a%20b", &[("id", "7"), ("part", "a b")]);
    assert_eq!((part.as_text(), part.uri.as_str()), (Some("7 Some(\"a b\") 9"), "notes://note/7?part=a%20b"));
    assert_eq!(read("notes://note/7?limit=3", &[("id", "7"), ("limit", "3")]).as_text(), Some("7 None 3"));
    assert_eq!(read("notes://note/7", &[("id", "7")]).mime_type.as_deref(), Some("text/markdown"));
    let rooted = TestClient::new().has_roots([]);
    let contents = rooted.read_template::<file>("file:///a/b.txt", [("path", "a/b.txt")]);
    assert_eq!(only(contents).as_text(), Some("a/b.txt"));
}

#[test]
fn what_does_not_fit_a_template_is_not_found() {
    for (uri, variables) in [
        ("notes://note/x", &[("id", "x")][..]),
        ("notes://note/7?limit=999", &[("id", "7"), ("limit", "999")]),
        ("notes://note/100", &[("id", "100")]),
        ("notes://note/", &[]),
    ] {
        let error = Error::NotFound(format!("there is no resource `{uri}`"));
        assert_eq!(testing::read_template::<note>(uri, variables.iter().copied()), Err(error), "{uri}");
    }
    assert!(matches!(testing::read::<note>("notes://note/7"), Err(Error::NotFound(_))));
    assert!(matches!(testing::read::<all>("notes://other"), Err(Error::NotFound(_))));
}

#[test]
fn a_template_may_list_what_there_is() {
    let template = note::template().unwrap();
    assert_eq!(template.uri_template, "notes://note/{id}{?part,limit}");
    assert_eq!((template.name.as_str(), template.description.as_deref()), ("note", Some("One note.")));
    assert_eq!(template.mime_type.as_deref(), Some("text/markdown"));
    assert_eq!(note::list().unwrap()[0].title.as_deref(), Some("One"));
    assert_eq!(file::list().unwrap(), []);
    assert_eq!(note::VARIABLES, ["id", "part", "limit"]);
}
