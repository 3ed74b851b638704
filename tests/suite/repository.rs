//! Promises about the repository itself.

use std::process::Command;

use plugport_tests::build::root;

fn git(args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(root()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn nothing_compiled_is_committed() {
    assert_eq!(git(&["ls-files", "*.wasm", "*.cwasm", "*.so", "*.o"]), "");
}

/// A guest that no test names is a behaviour that nobody checks.
#[test]
fn every_guest_has_a_test() {
    // The table of the corpus is a part of the suite.
    let sources = ["tests/suite", "tests/support/corpus"];
    let sources = sources.iter().flat_map(|folder| std::fs::read_dir(root().join(folder)).unwrap());
    let suite: String =
        sources.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    for entry in std::fs::read_dir(root().join("tests/guests/examples")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(suite.contains(&format!("\"{name}\"")), "no test uses the guest {name}");
    }
}

/// The page that operators read must not drift from the table that is enforced.
#[test]
fn the_limits_page_has_every_limit_with_its_default_and_maximum() {
    let page = std::fs::read_to_string(root().join("docs/limits.md")).unwrap();
    for spec in plugport::config::Limits::TABLE {
        let row = format!("| `{}` | {} | {} |", spec.name, spec.default, spec.max);
        assert!(page.contains(&row), "docs/limits.md lacks the row\n{row} {} |", spec.why);
    }
}
