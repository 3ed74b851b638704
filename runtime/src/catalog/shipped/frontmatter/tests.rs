use serde_json::json;

use super::*;

fn read(yaml: &str) -> Result<Value, String> {
    let parsed = parse(&format!("---\n{yaml}\n---\n# Text\n"));
    parsed.map(Value::Object).map_err(|error| error.to_string())
}

fn fault(yaml: &str) -> String {
    read(yaml).unwrap_err()
}

#[test]
fn everything_that_an_author_writes_is_passed_on_in_its_order() {
    let yaml = "name: pdf-processing\n\
                # what it is for\n\
                description: >-\n  Reads PDF: pages,\n  forms.\n\n\
                license: 'Apache-2.0'\n\
                metadata:\n  author: \"a: b\"\n  io.modelcontextprotocol/x: z\n  deeper:\n    version: 1.5\n\
                allowed-tools: [Read, Bash]\n\
                list:\n- one\n- 'two'\n\
                other:\n  - 3\n\
                empty:";
    let expected = json!({
        "name": "pdf-processing", "description": "Reads PDF: pages, forms.", "license": "Apache-2.0",
        "metadata": { "author": "a: b", "io.modelcontextprotocol/x": "z", "deeper": { "version": 1.5 } },
        "allowed-tools": ["Read", "Bash"], "list": ["one", "two"], "other": [3], "empty": null,
    });
    assert_eq!(read(yaml), Ok(expected.clone()));
    assert_eq!(read(&yaml.replace('\n', "\r\n")), Ok(expected.clone()));
    assert_eq!(read(yaml).unwrap().to_string(), expected.to_string(), "in order");
}

#[test]
fn a_frontmatter_stands_between_two_fences() {
    for text in [
        "",
        "# Text",
        "--- \nname: a\n---\n",
        "\u{feff}---\nname: a\n---\n",
        "---\nname: a\n",
        "\n---\na: b\n---\n",
    ] {
        assert!(parse(text).unwrap_err().to_string().contains("begins with a line"), "{text:?}");
    }
    assert_eq!(parse("---\n---\n"), Ok(Map::new()));
    assert_eq!(parse("---\na: b\n---").map(Value::Object), Ok(json!({ "a": "b" })));
}

#[test]
fn a_fault_has_its_line() {
    assert!(fault("name: a\nname: b").starts_with("line 3: this key is there twice"));
    assert!(fault("a: &x 1").starts_with("line 2: anchors"));
    assert!(fault("a:\n  b: 1\n c: 2").starts_with("line 4: this line is indented"));
    assert!(fault("a: b\n  c").starts_with("line 3: this line is indented"));
    assert!(fault("a b").starts_with("line 2: this is no `key: value`"));
    assert!(fault("on: x").starts_with("line 2: parsers"));
    assert!(fault("\ta: b").starts_with("line 2: the frontmatter has a tab"));
    assert!(fault("a: b\u{2028}c: d").contains("can hide words"));
    assert!(fault("a:\n- b: c").contains("means something in YAML"));
    assert!(fault("a:\n- - b").contains("means something in YAML"));
}

#[test]
fn bombs_are_rejected_before_they_are_read() {
    let keys: Vec<String> = (0..10_000).map(|n| format!("k{n}: v")).collect();
    assert!(fault(&keys[..100].join("\n")).contains("more than 64 keys"));
    assert!(fault(&keys.join("\n")).contains("more than 16 KiB"));
    assert!(fault(&format!("a: [{}]", ["x"; 100].join(", "))).contains("more than 64 keys"));
    let deep: Vec<String> = (0..100).map(|n| format!("{}a:", " ".repeat(n))).collect();
    assert!(fault(&deep.join("\n")).contains("nested more than 3 deep"));
    let laughs = "a: &a [lol, lol]\nb: &b [*a, *a]\nc: [*b, *b]";
    assert!(fault(laughs).contains("anchors, aliases and tags"));
    assert!(fault("a: !!python/object/apply:os.system [x]").contains("anchors, aliases and tags"));
    assert!(fault("<<: x").contains("no `key: value`"));
}

#[test]
fn any_text_is_read_or_rejected() {
    let whole = "---\na: \"b\\n\"\nc: >-\n  d\n\n  e\nf:\n  - [x]\n  g: 'h'\n---\n";
    for at in (0..whole.len()).filter(|at| whole.is_char_boundary(*at)) {
        let _ = parse(&whole[..at]);
        for other in ["\n", ":", " ", "-", "\"", "'", "[", "ä", "\r"] {
            let _ = parse(&format!("{}{other}{}", &whole[..at], &whole[at..]));
        }
    }
}
