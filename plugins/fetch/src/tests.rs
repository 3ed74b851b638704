#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at the first surprise")]

use plugport_sdk::http::{Failure, Response};
use plugport_sdk::testing::{self, Outcome, invoke};
use serde_json::{Value, json};

use super::fetch;

fn answers(answer: impl Fn(&str) -> Result<Response, Failure> + 'static) {
    testing::answer_http(move |request| answer(request.url()));
}

fn page(kind: &str, body: impl Into<Vec<u8>>) -> Outcome {
    let (kind, body) = (kind.to_owned(), body.into());
    answers(move |_| {
        let answer = Response::new(200, body.clone());
        Ok(if kind.is_empty() { answer } else { answer.with("Content-Type", kind.clone()) })
    });
    invoke::<fetch>(json!({"url": "https://a.test/"}))
}

fn error_text(outcome: &Outcome) -> String {
    assert!(outcome.is_error(), "{outcome:?}");
    outcome.text()
}

fn of(arguments: Value) -> Outcome {
    invoke::<fetch>(arguments)
}

#[test]
fn a_page_becomes_markdown() {
    let html = "<html><head><title>T</title><style>x{}</style></head><body><h1>Title</h1><script>evil()</script>\
                <p>Some <b>bold</b> text, a <a href='/next'>link</a>.</p><ul><li>one</li><li>two</li></ul></body></html>";
    let text = page("text/html; charset=utf-8", html).text();
    assert!(text.starts_with("# Title\n\nSome **bold** text, a [link](/next)."), "{text}");
    assert!(!text.contains("evil") && !text.contains("x{}") && text.contains("two"), "{text}");
    assert_eq!(page("", "<p>x</p>").text(), "x");
    let raw = of(json!({"url": "https://a.test/", "raw": true}));
    assert_eq!(raw.text(), "<p>x</p>");
}

#[test]
fn other_text_passes_as_it_is() {
    for kind in
        ["text/plain", "text/markdown", "application/json", "application/ld+json", "image/svg+xml", ""]
    {
        let told = page(kind, "# a *b* {\"c\": 1}");
        assert_eq!(told.is_error(), kind.starts_with("image"), "{kind}: {told:?}");
    }
    assert_eq!(page("text/plain", "a  <b>").text(), "a  <b>");
}

#[test]
fn what_is_no_text_is_rejected() {
    let told = error_text(&page("image/png", [0x89, b'P']));
    assert_eq!(told, "https://a.test/ is image/png; only HTML, text, JSON and XML can be read");
    assert!(error_text(&page("", [0, 1, 2])).contains("is no text"));
    answers(|_| Ok(Response::new(200, "x").with("content-encoding", "gzip")));
    assert!(error_text(&of(json!({"url": "https://a.test/"}))).contains("compressed (gzip)"));
}

#[test]
fn an_encoding_is_heeded() {
    assert_eq!(page("text/plain; charset=iso-8859-1", b"caf\xe9").text(), "café");
    let html = b"<html><head><meta charset='windows-1252'></head><body>caf\xe9 \x80</body></html>";
    assert_eq!(page("text/html", html).text(), "café €");
    assert_eq!(page("text/plain", b"caf\xe9").text(), "caf\u{fffd}");
}

#[test]
fn a_long_document_comes_in_pieces() {
    let text: String = ('a'..='z').cycle().take(50_000).chain(['é']).collect();
    let first = page("text/plain", text.clone());
    assert_eq!(first.content().len(), 2);
    assert!(first.text().ends_with("[characters 0 to 20000 of 50001; continue at start_index 20000]"));
    let piece = of(json!({"url": "https://a.test/", "start_index": 49_999, "max_length": 5}));
    assert_eq!(piece.text(), format!("{}é", text.chars().nth(49_999).unwrap()));
    let beyond = error_text(&of(json!({"url": "https://a.test/", "start_index": 50_001})));
    assert_eq!(beyond, "the document has 50001 characters; give a start_index below that");
    assert_eq!(page("text/plain", "").text(), "");
    let huge = page("text/plain", vec![b'x'; (1 << 20) + 1]);
    assert_eq!(huge.content().len(), 2, "more to come");
    let end = of(json!({"url": "https://a.test/", "start_index": (1 << 20) - 10}));
    assert!(end.text().ends_with("[only the first 1024 KiB of the document were read]"), "{}", end.text());
}

#[test]
fn three_redirects_are_followed() {
    answers(|url| {
        let hop = |to: &str| Ok(Response::new(302, "").with("Location", to));
        match url {
            "https://a.test/1" => hop("/2"),
            "https://a.test/2" => hop("https://b.test/3"),
            "https://b.test/3" => hop("?4"),
            "https://b.test/3?4" => Ok(Response::new(200, "there").with("content-type", "text/plain")),
            "https://a.test/0" => hop("1"),
            "https://a.test/astray" => hop("file:///etc/passwd"),
            "https://a.test/inside" => hop("http://127.0.0.1/"),
            _ => Err(Failure::denied("it")),
        }
    });
    assert_eq!(of(json!({"url": "https://a.test/1"})).text(), "there");
    assert_eq!(testing::http_requests().len(), 4);
    assert!(error_text(&of(json!({"url": "https://a.test/0"}))).contains("more than 3 times"));
    assert!(
        error_text(&of(json!({"url": "https://a.test/astray"})))
            .contains("redirects to `file:///etc/passwd`")
    );
    assert!(
        error_text(&of(json!({"url": "https://a.test/inside"})))
            .contains("requests to http://127.0.0.1 are not")
    );
}

#[test]
fn a_missing_grant_is_the_operators_to_mend() {
    answers(|_| Err(Failure::denied("it")));
    let told = error_text(&of(json!({"url": "https://A.test:8443/x?y"})));
    assert!(told.starts_with("requests to https://a.test:8443 are not granted"), "{told}");
    assert!(!told.contains("plugins.fetch") && !told.contains("http ="), "that is for the operator: {told}");
    for url in ["a.test", "ftp://a.test/", "", "javascript:alert(1)"] {
        assert!(error_text(&of(json!({"url": url}))).contains("is no address of a web page"), "{url}");
    }
}

#[test]
fn a_failure_is_said_in_one_sentence() {
    answers(|url| match url {
        "https://a.test/404" => Ok(Response::new(404, "no such page")),
        "https://a.test/500" => Ok(Response::new(500, "<html>oops</html>")),
        _ => Err(Failure::TimedOut),
    });
    let told = |path: &str| error_text(&of(json!({"url": format!("https://a.test/{path}")})));
    assert_eq!(told("404"), "https://a.test/404 answered with status 404: no such page");
    assert_eq!(told("500"), "https://a.test/500 answered with status 500");
    assert_eq!(told("x"), "https://a.test/x: the host took too long to answer");
}

#[test]
fn a_page_that_is_nested_deeply_is_rejected() {
    let told = error_text(&page("text/html", "<div>".repeat(2_000)));
    assert!(told.contains("nested too deeply"), "{told}");
    assert_eq!(page("text/html", format!("{}x", "<div>".repeat(200))).text(), "x");
}
