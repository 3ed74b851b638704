//! Two `plugport approve` that run at the same time both take effect: neither undoes the other, and both end.

use std::path::Path;
use std::process::{Child, Output, Stdio};

use plugport_tests::containment::Source;
use plugport_tests::server::program;

const TIMES: usize = 8;

/// Begins to approve these plugins of the folder, all of them where none is named.
fn begin(folder: &Path, plugins: &[&str]) -> Child {
    let mut command = program();
    command.arg("approve").args(plugins).args(["--yes", "--plugins", "."]).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for its end. A command that lost the race says so, and that it wrote nothing.
fn succeeds(approving: Child) -> bool {
    let Output { status, stdout, stderr } = approving.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    let late = err.contains("was changed meanwhile, so nothing was written; run `plugport approve` again");
    assert!(status.success() != late, "{status}: {out}{err}");
    let done = ["wrote ", "nothing has changed"].iter().any(|told| out.contains(told));
    assert!(done != late && !err.contains("panicked at"), "{out}{err}");
    !late
}

/// The approved plugins in a lockfile that must be complete.
fn approved(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("plugport.lock")).unwrap();
    let lock: toml::Table = text.parse().unwrap();
    lock["plugins"].as_table().unwrap().keys().cloned().collect()
}

/// Runs two approvals at once and repeats each that lost the race, as its message says. Returns how many did.
fn race(plugins: [&[&str]; 2]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    // Small, so that they are compiled at once.
    let small = Source::Wat("bad_result").bytes();
    for name in ["a", "b"] {
        std::fs::write(folder.path().join(format!("{name}.wasm")), &small).unwrap();
    }
    let both = plugins.map(|named| begin(folder.path(), named)).map(succeeds);
    assert!(both.contains(&true), "both were too late");
    for (named, _) in plugins.into_iter().zip(both).filter(|(_, done)| !done) {
        assert!(succeeds(begin(folder.path(), named)), "nobody else approves any more");
    }
    assert_eq!(approved(folder.path()), ["a", "b"]);
    let mut left: Vec<_> =
        folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["a.wasm", "b.wasm", "plugport.lock"], "something unfinished was left");
    both.into_iter().filter(|done| !done).count()
}

#[test]
fn approving_two_plugins_at_the_same_time_approves_both() {
    let late: usize = (0..TIMES).map(|_| race([&["a"], &["b"]])).sum();
    println!("{late} of {TIMES} times one of two was too late");
}

#[test]
fn approving_everything_twice_at_the_same_time_approves_it() {
    let late: usize = (0..TIMES).map(|_| race([&[], &[]])).sum();
    println!("{late} of {TIMES} times one of two was too late");
}
