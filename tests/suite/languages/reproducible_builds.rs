//! The same sources are the same component: in another folder, and in a second build. `template_readmes` calls this
//! with projects that it has built, since building takes long.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use plugport_tests::build::root;
use plugport_tests::command::output;
use plugport_tests::server::program;
use serde_json::Value;

/// A project that is built.
pub(super) struct BuiltProject<'a> {
    pub(super) template: &'static str,
    pub(super) folder: &'a Path,
    /// The `PATH` of its toolchain.
    pub(super) path: &'a OsString,
}

impl BuiltProject<'_> {
    /// Builds it again, and a project of the same template in another folder.
    pub(super) fn is_reproducible(&self) {
        let first = std::fs::read(self.component(self.folder)).unwrap();
        let again = self.build(self.folder);
        assert_eq!(again["changed"], false, "{}: nothing has changed: {again}", self.template);
        assert!(std::fs::read(self.component(self.folder)).unwrap() == first);
        // The builders that put an image of a started interpreter into a component are not run again.
        let is_image = ["typescript", "javascript", "python"].contains(&self.template);
        assert_eq!(again["cached"], is_image, "{again}");
        let other = tempfile::tempdir().unwrap();
        let second = self.built_below(&other.path().join("a folder with a longer path"));
        let differs = first.iter().zip(&second).position(|(one, other)| one != other);
        assert!(first == second, "{} differs at {differs:?}", self.template);
    }

    fn built_below(&self, folder: &Path) -> Vec<u8> {
        std::fs::create_dir(folder).unwrap();
        let name = self.folder.file_name().unwrap();
        let mut new = program();
        new.arg("new").arg(name).args(["--lang", self.template]).current_dir(folder);
        let (code, _, err) = output(&mut new);
        assert_eq!(code, Some(0), "{err}");
        let project = folder.join(name);
        if project.join("package.json").exists() {
            let mut npm = Command::new("npm");
            npm.args(["install", "--prefer-offline", "--no-audit", "--no-fund"]);
            let (code, out, err) = output(npm.current_dir(&project).env("PATH", self.path));
            assert_eq!(code, Some(0), "{out}{err}");
        }
        // Its packages are inputs of a component in Python.
        let environment = self.folder.join(".venv");
        if environment.exists() {
            let (code, _, err) = output(Command::new("cp").arg("-a").arg(environment).arg(&project));
            assert_eq!(code, Some(0), "{err}");
        }
        self.build(&project);
        std::fs::read(self.component(&project)).unwrap()
    }

    fn build(&self, project: &Path) -> Value {
        let mut build = program();
        build.args(["build", "--no-load", "--json"]).current_dir(project).env("PATH", self.path);
        // As the first build.
        build.env("CARGO_TARGET_DIR", root().join("target/plugins-build")).env_remove("RUSTFLAGS");
        let (code, out, err) = output(&mut build);
        assert_eq!(code, Some(0), "{out}{err}");
        serde_json::from_str(&out).unwrap()
    }

    fn component(&self, project: &Path) -> PathBuf {
        let name = self.folder.file_name().unwrap();
        project.join(name).with_extension("wasm")
    }
}
