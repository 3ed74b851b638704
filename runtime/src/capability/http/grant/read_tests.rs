//! Tests of how the array `http` is read.

use super::*;

#[test]
fn a_host_learns_the_trace_only_if_its_grant_says_so() {
    let read = |text: &str| {
        let mut reader = TomlReader::new(text);
        let entry = reader.root().take("http").unwrap();
        let grants: Vec<_> = entry
            .array(&mut reader)
            .into_iter()
            .filter_map(|entry| HttpGrant::read(entry, &mut reader))
            .collect();
        reader.finish(grants).map_err(|mistakes| mistakes[0].message.clone())
    };
    let text = r#"http = ["https://a.test", { pattern = "GET https://b.test", trace = true }]"#;
    let granted = read(text).unwrap();
    assert_eq!(granted.iter().map(HttpGrant::is_traced).collect::<Vec<_>>(), [false, true]);
    assert!(!granted.is_subset_of(&read(r#"http = ["https://a.test", "GET https://b.test"]"#).unwrap()));
    assert!(read(r#"http = [{ pattern = "https://a.test" }]"#).unwrap()[0] == granted[0]);
    assert!(read("http = [{ trace = true }]").unwrap_err().starts_with("needs `pattern`"));
    assert!(read("http = [1]").unwrap_err().starts_with("expected a string"));
}
