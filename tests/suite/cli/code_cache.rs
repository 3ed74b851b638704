//! A command compiles each component once: the next command uses the code in the user's cache folder, and rejects code
//! that another user could have written.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use plugport_tests::guests::{copy, folder, guest, plugin};
use plugport_tests::server::program;
use tempfile::TempDir;

/// With 1 ms for compiling, only cached code can be loaded.
const CACHED_ONLY: &str = "[limits]\ncompile_ms = 1\n";

/// The error about a file that is not in the cache.
const COMPILED: &str = "took longer than 1 ms to compile (limit `compile_ms`)";

/// A user with an empty cache.
struct UserHome {
    home: TempDir,
    work: TempDir,
}

impl UserHome {
    fn new() -> Self {
        let [home, work] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        std::fs::write(work.path().join("kept.toml"), CACHED_ONLY).unwrap();
        Self { home, work }
    }

    fn own(&self) -> PathBuf {
        self.home.path().join("plugport")
    }

    fn compiled(&self) -> PathBuf {
        self.own().join("compiled")
    }

    /// The names of the cached files.
    fn files(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.compiled()).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn code_files(&self) -> Vec<PathBuf> {
        let names = self.files().into_iter().filter(|name| name.ends_with(".code"));
        names.map(|name| self.compiled().join(name)).collect()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = program();
        command.args(args).current_dir(self.work.path()).env("XDG_CACHE_HOME", self.home.path());
        command
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String) {
        ended(self.command(args).output().unwrap())
    }

    fn echo(&self, file: &str) -> (Option<i32>, String) {
        self.run(&["call", file, "echo", "--args", r#"{"message":"x"}"#])
    }

    /// The same with a `compile_ms` that is too short to compile.
    fn echo_cached(&self, file: &str) -> (Option<i32>, String) {
        self.run(&["call", file, "echo", "--args", r#"{"message":"x"}"#, "--config", "kept.toml"])
    }
}

/// The exit code and all output.
fn ended(Output { status, stdout, stderr }: Output) -> (Option<i32>, String) {
    (status.code(), String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap())
}

fn polite() -> String {
    guest("polite").display().to_string()
}

fn assert_works((code, said): (Option<i32>, String)) {
    assert_eq!(code, Some(0), "{said}");
}

fn assert_compiles((code, said): (Option<i32>, String)) {
    assert!(code != Some(0) && said.contains(COMPILED), "{said}");
}

#[test]
fn a_file_is_compiled_by_the_first_command_that_loads_it_and_by_no_other() {
    let (person, polite) = (UserHome::new(), polite());
    assert_compiles(person.echo_cached(&polite));
    assert_works(person.echo(&polite));
    assert_works(person.echo_cached(&polite));
    assert_works(person.run(&["inspect", &polite, "--config", "kept.toml"]));
    let plugins = folder(&["polite"]);
    let plugins = plugins.path().to_str().unwrap();
    for command in [&["check"][..], &["approve", "--yes"]] {
        let args = [command, &["--plugins", plugins, "--config", "kept.toml"]].concat();
        assert_works(person.run(&args));
    }
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&person.own()), mode(&person.compiled())), (0o700, 0o700));
    let files = person.files();
    assert_eq!((files.len(), person.code_files().len(), files.last().unwrap().as_str()), (2, 1, "secret"));
    assert!(files.iter().all(|name| mode(&person.compiled().join(name)) == 0o600), "{files:?}");
    let left = std::fs::read_dir(person.work.path()).unwrap().count();
    assert_eq!(left, 2, "the configuration and what was approved, and no state");
}

#[test]
fn a_built_component_is_called_without_compiling_it() {
    let person = UserHome::new();
    let bin = person.work.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::fs::write(person.work.path().join("pyproject.toml"), "[project]\nname = 'greeter'\n").unwrap();
    // The fake tool makes the same component for all options.
    let script =
        format!("#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\nexec /bin/cp '{}' \"$1\"\n", polite());
    std::fs::write(bin.join("componentize-py"), script).unwrap();
    std::fs::set_permissions(bin.join("componentize-py"), Permissions::from_mode(0o755)).unwrap();
    let mut build = person.command(&["build"]);
    assert_works(ended(build.env("PATH", &bin).env_remove("VIRTUAL_ENV").output().unwrap()));
    assert_works(person.echo_cached("greeter.wasm"));
}

#[test]
fn tampered_code_is_compiled_anew() {
    let (person, polite) = (UserHome::new(), polite());
    assert_works(person.echo(&polite));
    let code = person.code_files().remove(0);
    let good = std::fs::read(&code).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    for bad in [&flipped, &good[..good.len() / 2], b""] {
        std::fs::write(&code, bad).unwrap();
        let (status, said) = person.echo_cached(&polite);
        assert!(said.contains("failed its MAC check") && said.contains(COMPILED), "{status:?}: {said}");
        assert_works(person.echo(&polite));
        assert_works(person.echo_cached(&polite));
    }
    std::fs::write(person.compiled().join("secret"), [7; 32]).unwrap();
    assert_compiles(person.echo_cached(&polite));
}

#[test]
fn a_folder_that_others_may_write_is_not_used() {
    let (person, polite) = (UserHome::new(), polite());
    assert_works(person.echo(&polite));
    for shared in [person.own(), person.compiled()] {
        std::fs::set_permissions(&shared, Permissions::from_mode(0o777)).unwrap();
        assert_compiles(person.echo_cached(&polite));
        let (code, said) = person.echo(&polite);
        assert_eq!((code, said.as_str()), (Some(0), "x\n"), "and nothing is said of it");
        std::fs::set_permissions(&shared, Permissions::from_mode(0o700)).unwrap();
        assert_works(person.echo_cached(&polite));
    }
}

#[test]
fn nothing_is_cached_without_a_folder_in_the_environment_or_when_the_configuration_turns_it_off() {
    let (person, polite) = (UserHome::new(), polite());
    let echo = ["call", &polite, "echo", "--args", r#"{"message":"x"}"#];
    let run = |cache: &str, home: Option<&Path>| {
        let mut command = person.command(&echo);
        command.env("XDG_CACHE_HOME", cache).env_remove("HOME").envs(home.map(|home| ("HOME", home)));
        assert_works(ended(command.output().unwrap()));
    };
    run("", None);
    run("relative", None);
    assert_eq!(std::fs::read_dir(person.work.path()).unwrap().count(), 1, "kept.toml");
    std::fs::write(person.work.path().join("none.toml"), "[server]\ncompiled_cache_mib = 0\n").unwrap();
    assert_works(person.run(&[&echo[..], &["--config", "none.toml"]].concat()));
    assert!(!person.own().exists());
    run("", Some(person.home.path()));
    assert!(person.home.path().join(".cache/plugport/compiled/secret").exists());
}

#[test]
fn commands_that_begin_together_share_what_they_compile() {
    let (person, files) = (UserHome::new(), ["polite", "version_a"].map(guest));
    let start = |file: &PathBuf| -> Child {
        let mut command = person.command(&["inspect", file.to_str().unwrap()]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let began: Vec<Child> = files.iter().cycle().take(6).map(start).collect();
    for command in began {
        let (code, said) = ended(command.wait_with_output().unwrap());
        assert!(code == Some(0) && !said.contains("failed its MAC check"), "{said}");
    }
    assert_eq!((person.files().len(), person.code_files().len()), (3, 2), "{:?}", person.files());
    for file in files {
        assert_works(person.run(&["inspect", file.to_str().unwrap(), "--config", "kept.toml"]));
    }
}

#[test]
fn no_plugin_is_granted_the_cache_folder() {
    let person = UserHome::new();
    let files = copy(&plugin("files"), person.work.path()).display().to_string();
    let home = person.home.path().display();
    let read = |grant: &str, path: &str| {
        let args = format!(r#"{{"path":"{path}"}}"#);
        person.run(&["call", &files, "read", "--args", &args, "--grant", grant])
    };
    std::fs::write(person.home.path().join("open.txt"), "open").unwrap();
    assert_works(read(&format!("dir={home}:/c"), "/c/open.txt"));
    for (grant, why) in [
        (format!("dir={home}/plugport:/c"), "it holds compiled code"),
        (format!("dir={home}/plugport/compiled:/c"), "it holds compiled code"),
        (format!("dir={home}:/c:rw"), "writing there could"),
    ] {
        let (code, said) = read(&grant, "/c/open.txt");
        assert!(code == Some(2) && said.contains(why), "{grant}: {said}");
    }
    // Files that anyone may read: only their folder protects them.
    std::fs::write(person.compiled().join("inside.txt"), "open").unwrap();
    std::os::unix::fs::symlink("plugport/compiled/inside.txt", person.home.path().join("alias")).unwrap();
    for path in ["/c/plugport/compiled/inside.txt", "/c/plugport/compiled/secret", "/c/alias"] {
        let (code, said) = read(&format!("dir={home}:/c"), path);
        assert_eq!(code, Some(1), "{path}: {said}");
    }
}
