//! Grants of several capabilities together: which is a subset of which, and what `--grant` takes.

use super::*;
use crate::capability::grant_trait::ProtectedPaths;

fn grants(options: &[&str]) -> Grants {
    let mut grants = Grants::default();
    let dir = std::env::temp_dir();
    let context = GrantContext { base: &dir, protected: &ProtectedPaths::default() };
    options.iter().for_each(|text| grants.add(text, context).unwrap());
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
    let sampling = |calls_per_hour| Grants {
        sampling: Some(SamplingGrant { calls_per_hour, ..SamplingGrant::default() }),
        ..Grants::default()
    };
    assert!(sampling(1).is_subset_of(&sampling(2)) && !sampling(2).is_subset_of(&sampling(1)));
}

#[test]
fn client_requests_are_granted_by_name_on_the_command_line() {
    let granted = grants(&["sampling", "elicitation", "roots"]);
    assert_eq!((granted.sampling, granted.elicitation.0), (Some(SamplingGrant::default()), true));
    assert!(granted.roots.list && !granted.roots.may_read());
    let dir = tempfile::tempdir().unwrap();
    assert!(grants(&[&format!("roots={}", dir.path().display())]).roots.may_read());
    let context = GrantContext { base: dir.path(), protected: &ProtectedPaths::default() };
    for wrong in ["sampling=1", "sampling=", "elicitation=true", "roots=/etc", "roots=none", "sockets"] {
        assert!(Grants::default().add(wrong, context).is_err(), "{wrong}");
    }
}

#[test]
fn a_directory_to_read_is_within_one_to_write() {
    let dir = tempfile::tempdir().unwrap();
    let read = |how: &str| grants(&[&format!("dir={}:/data{how}", dir.path().display())]);
    assert!(read("").is_subset_of(&read(":rw")) && !read(":rw").is_subset_of(&read("")));
}
