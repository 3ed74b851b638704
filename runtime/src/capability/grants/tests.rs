//! Grants of several capabilities together: what is within what, and what commands take.

use super::*;
use crate::capability::grant::ProtectedPaths;

fn grants(given: &[&str]) -> Grants {
    let mut grants = Grants::default();
    let dir = std::env::temp_dir();
    let context = GrantContext { base: &dir, protected: &ProtectedPaths::default() };
    given.iter().for_each(|text| grants.add(text, context).unwrap());
    grants
}

#[test]
fn less_is_within_more_and_not_the_other_way() {
    let mut more =
        Grants { elicitation: ElicitationGrant(true), ..grants(&["kv=16", "env=TZ=UTC", "config=a=1"]) };
    more.roots.list = true;
    let less = grants(&["kv=8", "config=a=2"]);
    assert!(less.is_subset_of(&more) && !more.is_subset_of(&less));
    assert!(Grants::default().is_subset_of(&less) && more.is_subset_of(&more));
    for one in [
        grants(&["kv=17"]),
        grants(&["env=PATH"]),
        grants(&["secret=a=env:PATH"]),
        Grants { sampling: Some(SamplingGrant::default()), ..Grants::default() },
    ] {
        assert!(!one.is_subset_of(&more), "{one:?}");
    }
    let ask = |calls_per_hour| Grants {
        sampling: Some(SamplingGrant { calls_per_hour, ..SamplingGrant::default() }),
        ..Grants::default()
    };
    assert!(ask(1).is_subset_of(&ask(2)) && !ask(2).is_subset_of(&ask(1)));
}

#[test]
fn a_directory_to_read_is_within_one_to_write() {
    let dir = tempfile::tempdir().unwrap();
    let read = |how: &str| grants(&[&format!("dir={}:/data{how}", dir.path().display())]);
    assert!(read("").is_subset_of(&read(":rw")) && !read(":rw").is_subset_of(&read("")));
}
