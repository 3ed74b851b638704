//! What componentize-py is given: the folders whose files its interpreter can read, and the packages of environments,
//! of which it is one itself.
//!
//! It reads more of a folder than sources: bytecode, native libraries in hidden folders, and settings. So it is given
//! copies of the files that count, and sees nothing else.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::inputs::Inputs;
use super::known_inputs::{InPlace, KnownInputs};
use super::not_reproducible::{NotReproducible, set_variable};
use super::wit_world::WitWorld;
use crate::project::source_names::{is_cache, is_no_source};

/// The file of a virtual environment.
const ENVIRONMENT_MARK: &str = "pyvenv.cfg";

/// Interfaces, and the modules that the SDK expects for them. Without these options a module's name depends on what
/// else the world has. An interface that the world lacks does no harm.
const MODULES: [&str; 3] = [
    "plugport:plugin/types@0.1.0=types",
    "wasi:keyvalue/store@0.2.0-draft2=keyvalue_store",
    "wasi:config/store@0.2.0-rc.1=config_store",
];

/// What componentize-py makes a component of.
#[derive(Debug, Clone)]
pub(super) struct PythonInputs {
    pub(super) wit: WitWorld,
    /// The plugin's module.
    pub(super) app: String,
    pub(super) project: PathBuf,
    pub(super) sdk: PathBuf,
    /// The folder of the module for `plugport dev`.
    pub(super) dev_app: Option<PathBuf>,
}

/// componentize-py and the packages that it reads.
#[derive(Debug, Clone)]
pub(super) struct PythonBuilder {
    pub(super) program: PathBuf,
    /// The virtual environment that the program is in.
    pub(super) own: Option<PathBuf>,
    /// The one that the user has activated.
    pub(super) active: Option<PathBuf>,
    /// A variable that is set and lets it read modules from elsewhere.
    pub(super) variable: Option<&'static str>,
}

impl PythonInputs {
    /// The arguments of componentize-py.
    pub(super) fn arguments(&self, output: &Path) -> Vec<OsString> {
        let mut args: Vec<OsString> =
            vec!["-d".into(), self.wit.folder.clone().into(), "-w".into(), (&self.wit.world).into()];
        let modules = MODULES.into_iter().flat_map(|module| ["--import-interface-name", module]);
        args.extend(modules.map(OsString::from));
        args.extend(["componentize".into(), OsString::from(&self.app)]);
        let folders = [&self.project, &self.sdk].into_iter().chain(&self.dev_app);
        args.extend(folders.flat_map(|folder| ["-p".into(), folder.into()]));
        args.extend(["-o".into(), output.into()]);
        args
    }

    /// Copies of the inputs, and their digest. `output`: the file that the build writes, if it is known.
    pub(super) async fn copied(
        &self,
        builder: PythonBuilder,
        scratch: &Path,
        output: Option<PathBuf>,
    ) -> Result<(Self, KnownInputs), NotReproducible> {
        let here = self.clone();
        let in_place: InPlace = Arc::new(move |inputs: &mut Inputs| builder.add_to(inputs));
        let copy = move |inputs: &mut Inputs, to: &Path| here.copy(inputs, to, output.as_deref());
        KnownInputs::read(scratch, in_place, copy).await
    }

    fn copy(&self, inputs: &mut Inputs, to: &Path, output: Option<&Path>) -> Result<Self, NotReproducible> {
        // The paths of temporary folders do not count.
        inputs.value(format!("{:?}", self.below("".as_ref()).arguments(Path::new("output"))).as_bytes());
        let copies = self.below(to);
        inputs.copy(&self.wit.folder, &copies.wit.folder, &|_| false)?;
        let is_skipped = |path: &Path| is_no_input(path) || Some(path) == output;
        let folders = [(&self.project, &copies.project), (&self.sdk, &copies.sdk)];
        for (folder, copy) in folders.into_iter().chain(self.dev_app.as_ref().zip(copies.dev_app.as_ref())) {
            inputs.value(&[u8::from(folder.is_dir())]);
            if folder.is_dir() {
                inputs.copy(folder, copy, &is_skipped)?;
            }
        }
        Ok(copies)
    }

    /// The same with the folders that copies have.
    fn below(&self, folder: &Path) -> Self {
        Self {
            wit: WitWorld { folder: folder.join("wit"), world: self.wit.world.clone() },
            app: self.app.clone(),
            project: folder.join("project"),
            sdk: folder.join("sdk"),
            dev_app: self.dev_app.as_ref().map(|_| folder.join("dev")),
        }
    }
}

impl PythonBuilder {
    pub(super) fn new(program: PathBuf) -> Self {
        let own = program.parent().and_then(Path::parent);
        let own = own.filter(|folder| folder.join(ENVIRONMENT_MARK).is_file()).map(Path::to_owned);
        let active = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
        Self { own, program, active, variable: set_variable(&["PYTHONPATH"]) }
    }

    fn add_to(&self, inputs: &mut Inputs) -> Result<(), NotReproducible> {
        let real = |path: &Path| {
            path.canonicalize().map_err(|error| NotReproducible::Unreadable(path.to_owned(), error))
        };
        if let Some(variable) = self.variable {
            return Err(NotReproducible::Variable(variable));
        }
        // Elsewhere nobody knows which packages componentize-py has.
        let nowhere = || NotReproducible::NoEnvironment(self.program.clone());
        let own = self.own.as_deref().ok_or_else(nowhere)?;
        if !real(&self.program)?.starts_with(real(own)?) {
            return Err(nowhere());
        }
        let program = inputs.text(&self.program)?;
        inputs.value(without_interpreter(&program));
        let other = self.active.as_deref().filter(|active| *active != own);
        for environment in [own].into_iter().chain(other) {
            inputs.files(&environment.join("lib"), &is_bytecode, add_package_file)?;
        }
        Ok(())
    }
}

/// The text of a program without the path of its interpreter, which is in its environment. pip writes the path into the
/// first line, or into the second one if it is long or has spaces.
fn without_interpreter(program: &[u8]) -> &[u8] {
    let after_line = |text: &[u8]| text.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut text = program;
    for start in [&b"#!"[..], b"'''exec' "] {
        if text.starts_with(start) {
            text = text.get(after_line(text)..).unwrap_or_default();
        }
    }
    text
}

/// What neither counts nor is copied: output of builds, environments, packages of npm, and hidden files.
fn is_no_input(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    is_no_source(name) || name == "node_modules" || path.join(ENVIRONMENT_MARK).is_file() || is_cache(path)
}

fn is_bytecode(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "__pycache__")
}

/// A file of an installed package.
fn add_package_file(inputs: &mut Inputs, file: &Path) -> Result<(), NotReproducible> {
    if file.file_name().is_none_or(|name| name != "RECORD") {
        return inputs.file(file);
    }
    // pip's list of files has digests of programs, which have the path of the environment in them.
    let list = inputs.text(file)?;
    let lines: Vec<&[u8]> =
        list.split(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"..")).collect();
    inputs.value(&lines.join(&b'\n'));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn inputs(root: &Path) -> PythonInputs {
        PythonInputs {
            wit: WitWorld { folder: root.join("wit"), world: "plugin".to_owned() },
            app: "app.main".to_owned(),
            project: root.join("project"),
            sdk: root.join("sdk/src"),
            dev_app: None,
        }
    }

    fn put(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn digest(builder: &PythonBuilder) -> Result<String, NotReproducible> {
        let mut inputs = Inputs::default();
        builder.add_to(&mut inputs).map(|()| inputs.digest())
    }

    #[test]
    fn the_folders_of_the_project_and_of_its_sdk_are_given() {
        let args = inputs(Path::new("/p")).arguments(Path::new("/o.wasm")).join(std::ffi::OsStr::new(" "));
        let args = args.to_string_lossy();
        assert!(args.starts_with("-d /p/wit -w plugin --import-interface-name "), "{args}");
        let end = "=config_store componentize app.main -p /p/project -p /p/sdk/src -o /o.wasm";
        assert!(args.ends_with(end), "{args}");
    }

    #[test]
    fn what_does_not_count_is_not_given() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["plugin.py", "lib/x.so", "componentize-py.toml", "data.txt"] {
            put(dir.path(), &format!("project/{file}"), "x");
        }
        put(dir.path(), "wit/deps/x.wasm", "x");
        let given = inputs(dir.path());
        let copy = |to: &str| {
            let mut inputs = Inputs::default();
            let to = dir.path().join(to);
            let copies = given.copy(&mut inputs, &to, Some(&dir.path().join("project/out"))).unwrap();
            (copies, inputs.digest())
        };
        let (_, before) = copy("one");
        for file in [
            "__pycache__/plugin.cpython-314.pyc",
            "plugin.pyc",
            ".hidden/x.abi3.so",
            "env/pyvenv.cfg",
            "env/lib/x.py",
            "plugport.lock",
            "plugport.toml",
            "x.wasm",
            "x.wasm.minisig",
            "out",
            "target/CACHEDIR.TAG",
        ] {
            put(dir.path(), &format!("project/{file}"), "planted");
        }
        let (copies, after) = copy("other");
        assert_eq!(before, after);
        let names = |folder: &Path| {
            let entries = fs::read_dir(folder).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&copies.project), ["componentize-py.toml", "data.txt", "lib", "plugin.py"]);
        assert_eq!(names(&copies.wit.folder.join("deps")), ["x.wasm"]);
        put(dir.path(), "project/data.txt", "y");
        let third = copy("third").1;
        assert_ne!(third, before);
        put(dir.path(), "sdk/src/x.py", "");
        assert_ne!(copy("fourth").1, third);
    }

    #[test]
    fn the_builder_counts_without_the_path_of_its_environment() {
        let dir = tempfile::tempdir().unwrap();
        let builder = |name: &str, program: &str| {
            let own = dir.path().join(name);
            put(&own, "pyvenv.cfg", "");
            put(&own, "lib/python3/site-packages/x.py", "x");
            put(&own, "bin/componentize-py", program);
            PythonBuilder {
                program: own.join("bin/componentize-py"),
                own: Some(own),
                active: None,
                variable: None,
            }
        };
        let one = builder("one", "#!/one/bin/python3\nrun()\n");
        let before = digest(&one).unwrap();
        assert_eq!(digest(&builder("two", "#!/two/bin/python3\nrun()\n")).unwrap(), before);
        assert_ne!(digest(&builder("two", "#!/two/bin/python3\nother()\n")).unwrap(), before);
        let long = |path: &str| format!("#!/bin/sh\n'''exec' {path} \"$0\" \"$@\"\n' '''\nrun()\n");
        let [three, four] = ["three", "four"].map(|name| digest(&builder(name, &long(name))).unwrap());
        assert_eq!(three, four);
        put(dir.path(), "one/lib/python3/site-packages/x.dist-info/RECORD", "x.py,sha256=1,1\n../bin/x,,\n");
        let before = digest(&one).unwrap();
        put(dir.path(), "one/lib/python3/site-packages/x.dist-info/RECORD", "x.py,sha256=2,1\n../bin/x,,\n");
        assert_ne!(digest(&one).unwrap(), before, "a package has changed");
        put(dir.path(), "one/lib/python3/site-packages/x.so", "one");
        let before = digest(&one).unwrap();
        put(dir.path(), "one/lib/python3/site-packages/x.so", "two");
        assert_ne!(digest(&one).unwrap(), before, "of the same length");
        let elsewhere = PythonBuilder { variable: Some("PYTHONPATH"), ..one.clone() };
        assert!(matches!(digest(&elsewhere), Err(NotReproducible::Variable("PYTHONPATH"))));
        let without = PythonBuilder { own: None, ..one.clone() };
        assert!(matches!(digest(&without), Err(NotReproducible::NoEnvironment(_))));
        fs::rename(&one.program, dir.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &one.program).unwrap();
        assert!(matches!(digest(&one), Err(NotReproducible::NoEnvironment(_))), "it is of another place");
    }
}
