//! `plugport build` of sources that were built before: it takes the component of then, where the tools of the language
//! would make another one. The tools here are scripts that count how often they run.
//!
//! The real tools are in `languages::template_readmes`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use plugport_tests::command::output;
use plugport_tests::guests::guest;
use plugport_tests::server::program;
use serde_json::Value;
use tempfile::TempDir;

/// A project in an empty folder, with a cache of its own in the folder `.cache`.
struct Project(TempDir);

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|(name, text)| project.put(name, text));
        project
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }

    /// Builds the project to `x.wasm`. Returns whether the tool has run.
    fn build(&self) -> bool {
        self.build_and_listen().0
    }

    /// Like `build`, also with what it says on stderr.
    fn build_and_listen(&self) -> (bool, String) {
        let before = self.runs();
        let mut build = program();
        build.args(["build", "--no-load", "--json"]).current_dir(self.path());
        build.env("PATH", self.path().join("bin")).env_remove("VIRTUAL_ENV");
        build.env("XDG_CACHE_HOME", self.path().join(".cache"));
        let (code, out, err) = output(&mut build);
        assert_eq!(code, Some(0), "{out}{err}");
        let built: Value = serde_json::from_str(&out).unwrap();
        let has_run = self.runs() > before;
        assert_eq!(built["cached"], !has_run, "{built}");
        (has_run, err)
    }

    fn component(&self) -> Vec<u8> {
        std::fs::read(self.path().join("x.wasm")).unwrap()
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.path().join(".runs")).unwrap_or_default().lines().count()
    }

    /// The changes that the languages have in common.
    fn builds_only_what_has_changed(&self, source: &str) {
        assert!(self.build(), "there is no component");
        assert!(!self.build(), "nothing has changed");
        std::fs::write(self.path().join(source), "x = 2").unwrap();
        assert!(self.build() && !self.build(), "a source has changed");
        std::fs::write(self.path().join(source), "x = 1").unwrap();
        assert!(!self.build(), "it is what it was");
        let built = self.component();
        std::fs::write(self.path().join("x.wasm"), "another").unwrap();
        assert!(!self.build() && self.component() == built, "somebody has changed the component");
        std::fs::remove_file(self.path().join("x.wasm")).unwrap();
        assert!(!self.build() && self.component() == built, "it is gone");
        std::fs::remove_dir_all(self.path().join(".cache")).unwrap();
        assert!(self.build() && !self.build(), "the cache is empty");
    }
}

/// A script that lists the folders that it is given, and copies a component to its last argument.
fn builder() -> String {
    let component = guest("polite").display().to_string();
    format!(
        r#"#!/bin/sh
        echo run >> .runs
        while [ $# -gt 1 ]; do
            if [ "$1" = -p ]; then /bin/ls -AR "$2" >> .given; fi
            shift
        done
        exec /bin/cp '{component}' "$1"
        "#
    )
}

/// A project in Python without a builder.
const PYTHON: [(&str, &str); 5] = [
    ("pyproject.toml", "[project]\nname = 'x'\nversion = '0.1.0'\n"),
    ("plugin.py", "x = 1"),
    ("sdk/src/plugport_sdk/__init__.py", ""),
    (".venv/pyvenv.cfg", ""),
    (".venv/lib/python3.12/site-packages/library.py", ""),
];

#[test]
fn python_is_built_again_when_a_source_a_package_or_the_component_has_changed() {
    let project = Project::new(&PYTHON);
    project.put(".venv/bin/componentize-py", &builder());
    project.builds_only_what_has_changed("plugin.py");
    for file in
        ["sdk/src/plugport_sdk/__init__.py", ".venv/lib/python3.12/site-packages/library.py", "new.py"]
    {
        project.put(file, "x = 3");
        assert!(project.build() && !project.build(), "{file} has changed");
    }
    let no_sources = [
        "__pycache__/plugin.cpython-314.pyc",
        "planted.pyc",
        "other.wasm",
        "x.wasm.minisig",
        "plugport.lock",
        "plugport.toml",
        ".cache/x",
        ".hidden/planted.abi3.so",
    ];
    for file in no_sources {
        project.put(file, "");
        assert!(!project.build(), "{file} is no source");
    }
    std::fs::remove_file(project.path().join(".given")).unwrap();
    project.put("plugin.py", "x = 4");
    assert!(project.build());
    let given = std::fs::read_to_string(project.path().join(".given")).unwrap();
    assert!(
        given.contains("plugin.py") && given.contains("__init__.py") && given.contains("new.py"),
        "{given}"
    );
    for planted in ["planted", "__pycache__", ".venv", "plugport.lock"] {
        assert!(!given.contains(planted), "{planted} is no source, and the builder could read it: {given}");
    }
    project.put(".venv/bin/componentize-py", &format!("{}# newer", builder()));
    assert!(project.build() && !project.build(), "it is another builder");
}

#[test]
fn a_build_that_cannot_be_repeated_says_why() {
    let project = Project::new(&PYTHON);
    project.put("bin/componentize-py", &builder());
    let says = |why: &str| {
        for _ in 0..2 {
            let (has_run, said) = project.build_and_listen();
            assert!(
                has_run && said.contains("this build is not reproducible: ") && said.contains(why),
                "{said}"
            );
        }
    };
    says("bin/componentize-py is in no virtual environment; install componentize-py in .venv of the project");
    project.put(".venv/bin/componentize-py", &builder());
    assert!(project.build() && !project.build());
    let elsewhere = tempfile::tempdir().unwrap();
    let link = project.path().join("link");
    std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
    says("the link ");
    let given = std::fs::read_to_string(project.path().join(".given")).unwrap();
    assert!(given.contains("link"), "the builder is given the project itself: {given}");
    std::fs::remove_file(link).unwrap();
    assert!(!project.build(), "it is what it was");
}

#[test]
fn javascript_is_built_again_when_its_bundle_or_its_builder_has_changed() {
    let bundler = r#"#!/bin/sh
        for option; do
            case $option in
                --outfile=*) /bin/cp src/plugin.js "${option#--outfile=}" ;;
                --metafile=*) echo '{"outputs": {}}' > "${option#--metafile=}" ;;
            esac
        done"#;
    let project = Project::new(&[
        ("package.json", r#"{"name": "x", "version": "0.1.0", "main": "src/plugin.js"}"#),
        ("src/plugin.js", "x = 1"),
        ("bin/node", "#!/bin/sh\necho v22.0.0\n"),
        ("node_modules/plugport-sdk/package.json", "{}"),
        ("node_modules/.bin/esbuild", bundler),
        ("node_modules/componentize-qjs/package.json", "{}"),
        ("node_modules/.bin/componentize-qjs", &builder()),
    ]);
    project.builds_only_what_has_changed("src/plugin.js");
    let before = project.component();
    project.put("README.md", "It is in no bundle.");
    assert!(!project.build() && project.component() == before);
    project.put("package.json", r#"{"name": "x", "version": "0.2.0", "main": "src/plugin.js"}"#);
    assert!(!project.build() && project.component() != before, "the version is added to what the tool made");
    project.put("node_modules/.bin/componentize-qjs", &format!("{}# newer", builder()));
    assert!(project.build() && !project.build());
}
