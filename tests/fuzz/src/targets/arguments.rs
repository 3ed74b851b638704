//! Arguments are allowed exactly if every naive reading of the JSON gives the plugin a path below `/data`, and a path
//! below it in every naive reading.

use plugport::access::policy::fuzzing::{arguments_allowed, path_matches};
use serde_json::Value;

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "arguments",
    check,
    words: &[
        "{\"path\":\"/data/x\"}",
        "\"path\"",
        "\"PATH\"",
        "\"p\\u0061th\"",
        "\"p\u{17f}\"",
        "/data/",
        "..",
        "..;",
        "%2e",
        "%2F",
        "\\\\",
        "//",
        "null",
        "[",
        "]",
        "{}",
        ",",
    ],
};

/// The text of the arguments.
fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if path_matches("/data/**", &text) == Some(true) {
        assert!(is_below(&text), "{text:?} leads out of /data");
    }
    if arguments_allowed("/path", "/data/**", &text) != Some(true) {
        return;
    }
    // The last of several members counts here; that there is only one is the other half of the promise.
    let value: Value = serde_json::from_str(&text).unwrap();
    let members = value.as_object().unwrap();
    let alike = members.keys().filter(|name| name.to_lowercase() == "path");
    assert_eq!(alike.collect::<Vec<_>>(), ["path"], "{text:?}");
    let paths = match &members["path"] {
        Value::Array(paths) => paths.iter().collect(),
        path => vec![path],
    };
    assert!(!paths.is_empty() && paths.iter().all(|path| is_below(path.as_str().unwrap())), "{text:?}");
}

/// Decodes twice, takes each `\` for a slash, and resolves dots as a file system or a URL parser would.
fn is_below(path: &str) -> bool {
    let decode = |text: &str| {
        let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
        while let [first, tail @ ..] = rest {
            let code = (*first == b'%').then(|| tail.get(..2)).flatten();
            let byte = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
            bytes.push(byte.unwrap_or(*first));
            rest = if byte.is_some() { &tail[2..] } else { tail };
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let once = decode(path);
    [path.to_owned(), once.clone(), decode(&once)].iter().all(|text| {
        let mut resolved: Vec<&str> = Vec::new();
        for segment in text.split(['/', '\\']) {
            match segment.trim_end_matches(' ') {
                "" | "." => {}
                ".." => drop(resolved.pop()),
                segment => resolved.push(segment),
            }
        }
        text.starts_with('/') && resolved.len() >= 2 && resolved[0] == "data"
    })
}
