//! What holds for the repository itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use plugport_tests::build::{files_below, root};

fn git(args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(root()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn nothing_compiled_is_committed() {
    assert_eq!(git(&["ls-files", "*.wasm", "*.cwasm", "*.so", "*.o"]), "");
}

/// The state of servers, with secrets, is neither committed nor in a folder that the next commit would add.
#[test]
fn no_state_of_a_server_is_in_the_repository() {
    let Ok(listed) = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output() else {
        eprintln!("skipped: there is no git");
        return;
    };
    let tracked = String::from_utf8(listed.stdout).unwrap();
    let mut found: Vec<PathBuf> =
        tracked.split('\0').map(PathBuf::from).filter(|path| is_state(path)).collect();
    let mut pending = vec![root().join("tests")];
    while let Some(folder) = pending.pop() {
        // Another test may remove files meanwhile.
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.file_name().unwrap_or_default();
            if ["target", "node_modules", ".git"].iter().any(|skipped| name == *skipped) {
                continue;
            }
            if path.is_dir() && !path.is_symlink() {
                pending.push(path.clone());
            }
            found.extend(is_state(path.strip_prefix(root()).unwrap()).then_some(path));
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

/// Whether this is the state of a server, or code that one compiled.
fn is_state(path: &Path) -> bool {
    let compiled = path.extension().is_some_and(|extension| extension == "code" || extension == "cwasm");
    compiled
        || path
            .components()
            .any(|part| ["plugins.redb", "audit.jsonl"].iter().any(|file| part.as_os_str() == *file))
}

/// Commands cache compiled code in the user's home, where tests must not write.
#[test]
fn programs_that_tests_start_keep_nothing_in_a_home() {
    let starts = |program| ["Command::new", "build_command"].map(|start| format!("{start}({program})"));
    let bare = ["binary()", "server::binary()"].map(starts).concat();
    for folder in ["tests/suite", "tests/support"] {
        for path in files_below(folder) {
            if path.ends_with("support/build.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let is_bare = bare.iter().any(|bare| text.contains(bare));
            assert!(!is_bare, "take the command `program()` or `build_program()` in {}", path.display());
        }
    }
}

/// Every guest needs a test that names it.
#[test]
fn every_guest_has_a_test() {
    // The table of the corpus is a part of the suite.
    let sources = ["tests/suite", "tests/support/corpus"];
    let sources = sources.iter().flat_map(|folder| files_below(folder));
    let suite: String = sources.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    for entry in std::fs::read_dir(root().join("tests/guests/examples")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(suite.contains(&format!("\"{name}\"")), "no test uses the guest {name}");
    }
    for entry in std::fs::read_dir(root().join("tests/guests/languages")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        // C++ and Zig are layers above the SDK for C: what they have of their own are the host's interfaces.
        let tests = ["every_feature_works_in", "every_host_interface_works_in"];
        let is_used = tests.iter().any(|test| suite.contains(&format!("fn {test}_{name}()")));
        assert!(is_used, "no test uses the guest in {name}");
    }
}

/// The page must have the same values as the enforced table.
#[test]
fn the_limits_page_has_every_limit_with_its_default_and_maximum() {
    let page = std::fs::read_to_string(root().join("docs/limits.md")).unwrap();
    for spec in plugport::config::Limits::TABLE {
        let row = format!("| `{}` | {} | {} |", spec.name, spec.default, spec.max);
        assert!(page.contains(&row), "docs/limits.md lacks the row\n{row} {} |", spec.why);
    }
}

/// A command measures the costs of each language; the table must be complete.
#[test]
fn the_languages_page_has_every_number() {
    let page = std::fs::read_to_string(root().join("docs/languages.md")).unwrap();
    for language in ["rust", "typescript", "javascript", "python", "go", "c", "cpp", "zig"] {
        let row = page.lines().find(|line| line.starts_with(&format!("| {language} | ")));
        let row = row.unwrap_or_else(|| panic!("`cargo measure languages` has measured no {language}"));
        let numbers = row.split('|').skip(2).map(str::trim).filter(|cell| cell.parse::<f64>().is_ok());
        assert_eq!(numbers.count(), 11, "{row}");
    }
}
