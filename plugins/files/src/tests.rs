use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use plugport_sdk::testing::{Outcome, invoke};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

thread_local! {
    static GRANTED: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn preopened() -> Vec<PathBuf> {
    GRANTED.with_borrow(Clone::clone)
}

/// A granted directory with what a project has.
fn granted() -> (TempDir, String) {
    let dir = TempDir::new().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for (name, text) in [
        ("README.md", "# Title\r\n\r\nSome TEXT.\r\n"),
        ("src/main.rs", "fn main() {\n    run();\n}\n\nfn run() {}\n"),
        ("src/deep/lib.rs", "pub fn deep() {}"),
        ("target/debug/made.rs", "fn made() {}\n"),
        (".git/config", "fn hidden() {}\n"),
        (".gitignore", "target\n"),
        ("data.bin", "\u{1}\0fn binary() {}"),
    ] {
        write(&root, name, text.as_bytes());
    }
    GRANTED.with_borrow_mut(|dirs| dirs.push(root.clone()));
    (dir, root.to_str().unwrap().to_owned())
}

fn write(root: &Path, name: &str, bytes: &[u8]) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn value(outcome: Outcome) -> Value {
    assert!(!outcome.is_error(), "{}", outcome.text());
    outcome.structured().unwrap()
}

fn error_text(outcome: Outcome) -> String {
    assert!(outcome.is_error(), "{}", outcome.text());
    outcome.text()
}

/// Paths below the root, in the order of the answer.
fn names(answer: &Value, root: &str) -> Vec<String> {
    let paths = answer["paths"].as_array().unwrap().iter();
    paths.map(|path| path.as_str().unwrap().replace(&format!("{root}/"), "")).collect()
}

#[test]
fn without_a_grant_every_tool_says_that_only_the_operator_can_help() {
    for outcome in [
        invoke::<list>(json!({})),
        invoke::<read>(json!({"path": "x"})),
        invoke::<search>(json!({"pattern": "x"})),
        invoke::<find>(json!({"glob": "*"})),
    ] {
        let told = error_text(outcome);
        assert!(told.contains("only the operator") && !told.contains("dirs ="), "{told}");
    }
}

#[test]
fn a_list_shows_one_level() {
    let (_dir, root) = granted();
    let listing = value(invoke::<list>(json!({})));
    assert_eq!(names(&listing, &root), [".git/", ".gitignore", "README.md", "data.bin", "src/", "target/"]);
    assert_eq!(listing["truncated"], false);
    assert_eq!(names(&value(invoke::<list>(json!({"path": "src/."}))), &root), ["src/deep/", "src/main.rs"]);
    assert_eq!(names(&value(invoke::<list>(json!({"path": "README.md"}))), &root), ["README.md"]);
    assert!(
        error_text(invoke::<list>(json!({"path": "nowhere"}))).contains("cannot be opened (No such file")
    );
}

#[test]
fn a_long_list_says_that_there_is_more() {
    let (dir, _) = granted();
    (0..1001).for_each(|number| write(dir.path(), &format!("many/{number}"), b""));
    let many = value(invoke::<list>(json!({"path": "many"})));
    assert_eq!((many["paths"].as_array().unwrap().len(), &many["truncated"]), (1000, &json!(true)));
}

#[test]
fn a_file_is_read_whole_or_by_lines() {
    let (_dir, root) = granted();
    let whole = invoke::<read>(json!({"path": "src/main.rs"}));
    assert_eq!(whole.text(), "fn main() {\n    run();\n}\n\nfn run() {}\n");
    let path = format!("{root}/./src/../src/main.rs");
    let some = invoke::<read>(json!({"path": path, "start_line": 2, "end_line": 3}));
    assert_eq!(some.text(), "    run();\n}\n\n[lines 2 to 3 of 5]");
    let last = invoke::<read>(json!({"path": "src/main.rs", "start_line": 5, "end_line": 99}));
    assert_eq!(last.text(), "fn run() {}\n\n[lines 5 to 5 of 5]");
}

#[test]
fn a_long_file_says_where_to_continue() {
    let (dir, _) = granted();
    let lines: String = (1..=20_000).map(|line| format!("line {line}\n")).collect();
    write(dir.path(), "long.txt", lines.as_bytes());
    let first = invoke::<read>(json!({"path": "long.txt"}));
    let note = first.content()[1].as_text().unwrap();
    assert_eq!(note, "[lines 1 to 6664 of 20000; truncated, continue at start_line 6665]");
    assert!(first.content()[0].as_text().unwrap().ends_with("line 6664\n"));
}

#[test]
fn a_line_that_is_too_long_is_cut_and_says_so() {
    let (dir, _) = granted();
    write(dir.path(), "one.txt", &[b'x'; 100_000]);
    let cut = invoke::<read>(json!({"path": "one.txt"}));
    assert_eq!(cut.content()[0].as_text().unwrap().len(), 65_536);
    assert_eq!(cut.content()[1].as_text(), Some("[lines 1 to 1 of 1; line 1 was cut at 64 KiB]"));
    write(dir.path(), "two.txt", &[vec![b'x'; 100_000], b"\nsecond".to_vec()].concat());
    let cut = invoke::<read>(json!({"path": "two.txt"})).text();
    assert!(cut.ends_with("; line 1 was cut at 64 KiB; truncated, continue at start_line 2]"), "{cut}");
}

#[test]
fn what_cannot_be_read_is_explained() {
    let (dir, root) = granted();
    fs::File::create(dir.path().join("huge")).unwrap().set_len(9 << 20).unwrap();
    write(dir.path(), "empty", b"");
    let of = |path: &str| error_text(invoke::<read>(json!({ "path": path })));
    assert_eq!(of("data.bin"), format!("`{root}/data.bin` is binary and cannot be shown as text"));
    assert_eq!(of("src"), format!("`{root}/src` is a directory; `list` shows what is in it"));
    assert_eq!(of("huge"), format!("`{root}/huge` is larger than 8 MiB and not read"));
    assert!(of("nowhere").ends_with("`list` and `find` show what can be"));
    assert_eq!(invoke::<read>(json!({"path": "empty"})).text(), "");
    for (start, end) in [(0, 3), (6, 7), (4, 2)] {
        let lines = invoke::<read>(json!({"path": "src/main.rs", "start_line": start, "end_line": end}));
        assert!(error_text(lines).contains("has 5 lines; give"), "{start} {end}");
    }
}

#[test]
fn a_path_outside_is_rejected_with_the_granted_directories() {
    let (_dir, root) = granted();
    for path in ["/etc/passwd", "../x", "src/../../x", "/", "/..", "../../../../../../../../etc"] {
        let expected = format!("`{path}` is outside the granted directories; give a path below `{root}`");
        assert_eq!(error_text(invoke::<read>(json!({ "path": path }))), expected);
        assert_eq!(error_text(invoke::<list>(json!({ "path": path }))), expected);
        assert_eq!(error_text(invoke::<search>(json!({ "pattern": "x", "path": path }))), expected);
        assert_eq!(error_text(invoke::<find>(json!({ "glob": "*", "path": path }))), expected);
    }
    // A name that begins like the granted one is another directory.
    assert!(error_text(invoke::<read>(json!({"path": format!("{root}x/y")}))).contains("is outside"));
}

#[test]
fn with_several_grants_a_path_must_say_which() {
    let (_one, first) = granted();
    let (_two, second) = granted();
    let text = error_text(invoke::<read>(json!({"path": "README.md"})));
    assert!(text.contains("outside") && text.contains(&first) && text.contains(&second), "{text}");
    assert_eq!(value(invoke::<find>(json!({"glob": "*.md"})))["paths"].as_array().unwrap().len(), 2);
    assert!(!invoke::<read>(json!({"path": format!("{second}/README.md")})).is_error());
}

#[test]
fn a_search_tells_file_line_and_text() {
    let (_dir, root) = granted();
    let found = value(invoke::<search>(json!({"pattern": r"^(pub )?fn \w+"})));
    let matches = json!([
        {"path": format!("{root}/src/deep/lib.rs"), "line": 1, "text": "pub fn deep() {}"},
        {"path": format!("{root}/src/main.rs"), "line": 1, "text": "fn main() {"},
        {"path": format!("{root}/src/main.rs"), "line": 5, "text": "fn run() {}"},
    ]);
    let expected = json!({"matches": matches, "files_searched": 4, "files_skipped": 1, "truncated": false});
    assert_eq!(found, expected);
}

#[test]
fn a_search_can_be_narrowed_and_widened() {
    let (_dir, root) = granted();
    let count = |arguments: Value| value(invoke::<search>(arguments))["matches"].as_array().unwrap().len();
    assert_eq!(count(json!({"pattern": "text"})), 0);
    assert_eq!(count(json!({"pattern": "text", "ignore_case": true})), 1);
    assert_eq!(count(json!({"pattern": "TEXT\\.$"})), 1);
    assert_eq!(count(json!({"pattern": "fn", "glob": "src/*.rs"})), 2);
    assert_eq!(count(json!({"pattern": "fn", "glob": "src/**/*.rs"})), 3);
    assert_eq!(count(json!({"pattern": "fn", "glob": format!("{root}/src/*.rs")})), 2);
    assert_eq!(count(json!({"pattern": "fn", "path": "src/main.rs"})), 2);
    assert_eq!(count(json!({"pattern": "fn", "path": "target"})), 1);
    assert_eq!(count(json!({"pattern": "fn", "path": ".git"})), 1);
}

#[test]
fn a_pattern_never_matches_across_lines() {
    let (dir, _) = granted();
    write(dir.path(), "span.txt", b"a\nb\na b\n\n\n");
    let lines = |pattern: &str| {
        let found = value(invoke::<search>(json!({"pattern": pattern, "path": "span.txt"})));
        let lines = found["matches"].as_array().unwrap().iter().map(|found| found["line"].as_u64().unwrap());
        lines.collect::<Vec<_>>()
    };
    assert_eq!(lines(r"a\sb"), [3]);
    assert_eq!(lines("^$"), [4, 5]);
    assert_eq!(lines("x*"), [1, 2, 3, 4, 5]);
    assert_eq!(lines(r"\Aa"), [1]);
}

#[test]
fn a_search_says_what_it_left_out() {
    let (dir, _) = granted();
    fs::File::create(dir.path().join("huge")).unwrap().set_len(9 << 20).unwrap();
    write(dir.path(), "wide.txt", &[b'w'; 1000]);
    let found = value(invoke::<search>(json!({"pattern": "fn", "limit": 2})));
    assert_eq!((found["matches"].as_array().unwrap().len(), &found["truncated"]), (2, &json!(true)));
    let found = value(invoke::<search>(json!({"pattern": "w+$"})));
    assert_eq!(found["files_skipped"], 2);
    assert_eq!(found["matches"][0]["text"].as_str().unwrap().len(), 400);
}

#[test]
fn a_pattern_or_glob_that_cannot_be_read_is_explained() {
    let (_dir, _) = granted();
    assert!(error_text(invoke::<search>(json!({"pattern": "("}))).contains("unclosed group"));
    assert!(error_text(invoke::<search>(json!({"pattern": "a\nb"}))).contains("not allowed"));
    assert!(error_text(invoke::<search>(json!({"pattern": r"(\w{100}){100}"}))).contains("size limit"));
    assert!(error_text(invoke::<find>(json!({"glob": "{a"}))).contains("write a glob such as"));
}

#[test]
fn files_are_found_by_name_or_by_path() {
    let (_dir, root) = granted();
    let found = |glob: &str| names(&value(invoke::<find>(json!({ "glob": glob }))), &root);
    assert_eq!(found("*.rs"), ["src/deep/lib.rs", "src/main.rs"]);
    assert_eq!(found("**/*.rs"), ["src/deep/lib.rs", "src/main.rs"]);
    assert_eq!(found("src/*.rs"), ["src/main.rs"]);
    assert_eq!(found("*.{md,bin}"), ["README.md", "data.bin"]);
}

#[cfg(unix)]
#[test]
fn links_are_shown_and_not_followed() {
    let (dir, root) = granted();
    let outside = TempDir::new().unwrap();
    write(outside.path(), "secret.rs", b"fn secret() {}\n");
    std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
    assert!(names(&value(invoke::<list>(json!({}))), &root).contains(&"link".to_owned()));
    assert_eq!(value(invoke::<search>(json!({"pattern": "secret"})))["matches"], json!([]));
}
