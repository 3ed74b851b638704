//! What componentize-qjs is given: a module with all of the project and its packages in it, and the WIT.
//!
//! The tool itself is a package of npm, which has a package for each kind of machine beside it, or links to them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::inputs::Inputs;
use super::known_inputs::{InPlace, KnownInputs};
use super::not_reproducible::NotReproducible;
use super::wit_world::WitWorld;

/// The name of the tool and of its package.
pub(super) const BUILDER: &str = "componentize-qjs";

/// The scope of npm with its packages for each kind of machine.
const MACHINE_PACKAGES: &str = "@andreiltd";

/// Variables that let it read modules from elsewhere, or another library in place of those packages.
pub(super) const VARIABLES: [&str; 3] = ["NODE_OPTIONS", "NODE_PATH", "NAPI_RS_NATIVE_LIBRARY_PATH"];

/// componentize-qjs.
#[derive(Debug, Clone)]
pub(super) struct JsBuilder {
    pub(super) program: PathBuf,
    /// Where npm has installed its package.
    pub(super) package: PathBuf,
    /// One of [`VARIABLES`] that is set.
    pub(super) variable: Option<&'static str>,
}

/// What componentize-qjs makes a component of.
#[derive(Debug, Clone)]
pub(super) struct JsInputs {
    pub(super) wit: WitWorld,
    pub(super) module: PathBuf,
}

impl JsInputs {
    /// The arguments of componentize-qjs. Without --sync the result is an asynchronous component, which the engine does
    /// not load.
    pub(super) fn arguments<'a>(&'a self, output: &'a Path) -> [&'a Path; 9] {
        let [sync, folder, world, js, to] = ["--sync", "-w", "-n", "-j", "-o"].map(Path::new);
        [sync, folder, &self.wit.folder, world, self.wit.world.as_ref(), js, &self.module, to, output]
    }

    /// Copies of the inputs, and their digest.
    pub(super) async fn copied(
        &self,
        builder: JsBuilder,
        scratch: &Path,
    ) -> Result<(Self, KnownInputs), NotReproducible> {
        let (here, module) = (self.clone(), self.module.clone());
        let in_place: InPlace = Arc::new(move |inputs: &mut Inputs| {
            builder.add_to(inputs)?;
            inputs.file(&module)
        });
        let copy = move |inputs: &mut Inputs, to: &Path| here.copy(inputs, to);
        KnownInputs::read(scratch, in_place, copy).await
    }

    /// The module is in the scratch folder or belongs to the SDK, and is not copied: it may import others by their
    /// paths.
    fn copy(&self, inputs: &mut Inputs, to: &Path) -> Result<Self, NotReproducible> {
        // The paths of temporary folders do not count.
        let world = || self.wit.world.clone();
        let named = Self { wit: WitWorld { folder: "wit".into(), world: world() }, module: "module".into() };
        inputs.value(format!("{:?}", named.arguments(Path::new("output"))).as_bytes());
        let folder = to.join("wit");
        inputs.copy(&self.wit.folder, &folder, &|_| false)?;
        Ok(Self { wit: WitWorld { folder, world: world() }, module: self.module.clone() })
    }
}

impl JsBuilder {
    fn add_to(&self, inputs: &mut Inputs) -> Result<(), NotReproducible> {
        if let Some(variable) = self.variable {
            return Err(NotReproducible::Variable(variable));
        }
        if !self.package.join("package.json").is_file() {
            return Err(NotReproducible::NoPackage(self.package.clone()));
        }
        let (program, package) = (real(&self.program)?, real(&self.package)?);
        let is_in_package = program.starts_with(&package);
        inputs.value(&[u8::from(is_in_package)]);
        if !is_in_package {
            // A script that starts the package, as pnpm writes them, or another program.
            inputs.file(&program)?;
        }
        inputs.folder(&package, &|_| false)?;
        let machines = package.parent().map(|beside| beside.join(MACHINE_PACKAGES));
        for machine in folders(machines.filter(|folder| folder.is_dir()))? {
            inputs.value(machine.file_name().unwrap_or_default().as_encoded_bytes());
            inputs.folder(&real(&machine)?, &|_| false)?;
        }
        Ok(())
    }
}

fn real(path: &Path) -> Result<PathBuf, NotReproducible> {
    path.canonicalize().map_err(|error| NotReproducible::Unreadable(path.to_owned(), error))
}

/// The folders in another one, if that is there, in their order.
fn folders(folder: Option<PathBuf>) -> Result<Vec<PathBuf>, NotReproducible> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let unreadable = |error| NotReproducible::Unreadable(folder.clone(), error);
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        folders.push(entry.map_err(unreadable)?.path());
    }
    folders.retain(|path| path.is_dir());
    folders.sort();
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn put(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The digest of the tool in `node_modules` of a folder.
    fn digest(root: &Path) -> Result<String, NotReproducible> {
        let mut inputs = Inputs::default();
        let modules = root.join("node_modules");
        let (program, package) = (modules.join(".bin").join(BUILDER), modules.join(BUILDER));
        JsBuilder { program, package, variable: None }.add_to(&mut inputs).map(|()| inputs.digest())
    }

    fn changes(root: &Path, file: &str) {
        let before = digest(root).unwrap();
        put(root, file, "changed");
        assert_ne!(digest(root).unwrap(), before, "{file}");
    }

    #[test]
    fn all_of_the_builder_counts_as_npm_installs_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        put(root, "node_modules/componentize-qjs/bin/cli.js", "");
        fs::create_dir(root.join("node_modules/.bin")).unwrap();
        symlink("../componentize-qjs/bin/cli.js", root.join("node_modules/.bin/componentize-qjs")).unwrap();
        assert!(matches!(digest(root), Err(NotReproducible::NoPackage(_))));
        put(root, "node_modules/componentize-qjs/package.json", "{}");
        put(root, "node_modules/@andreiltd/binding/x.node", "");
        changes(root, "node_modules/componentize-qjs/bin/cli.js");
        changes(root, "node_modules/@andreiltd/binding/x.node");
        let package = root.join("node_modules").join(BUILDER);
        let elsewhere = JsBuilder { program: package.clone(), package, variable: Some("NODE_PATH") };
        let counted = elsewhere.add_to(&mut Inputs::default());
        assert!(matches!(counted, Err(NotReproducible::Variable("NODE_PATH"))));
        fs::remove_file(root.join("node_modules/.bin/componentize-qjs")).unwrap();
        changes_by_another_program(root);
    }

    fn changes_by_another_program(root: &Path) {
        put(root, "node_modules/.bin/componentize-qjs", "one");
        changes(root, "node_modules/.bin/componentize-qjs");
    }

    #[test]
    fn all_of_the_builder_counts_as_pnpm_installs_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let store = "node_modules/.pnpm/componentize-qjs@1/node_modules";
        put(root, &format!("{store}/componentize-qjs/package.json"), "{}");
        put(root, "node_modules/.pnpm/binding@1/node_modules/@andreiltd/binding/x.node", "");
        fs::create_dir(root.join(store).join("@andreiltd")).unwrap();
        let binding = "../../../binding@1/node_modules/@andreiltd/binding";
        symlink(binding, root.join(store).join("@andreiltd/binding")).unwrap();
        let package = ".pnpm/componentize-qjs@1/node_modules/componentize-qjs";
        symlink(package, root.join("node_modules/componentize-qjs")).unwrap();
        changes_by_another_program(root);
        changes(root, "node_modules/.pnpm/binding@1/node_modules/@andreiltd/binding/x.node");
        changes(root, &format!("{store}/componentize-qjs/package.json"));
    }
}
