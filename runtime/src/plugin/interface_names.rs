//! The names of a component's imports and exports: for `inspect`, and for errors about components that are no plugins.
//! They are read from the component's type; no guest runs.

use wasmtime::Engine;
use wasmtime::component::Component;

/// The version of `plugport:plugin` that this server speaks. Guests built against a later patch level load too.
pub const WIT_VERSION: &str = "0.1.0";

/// Imports and exports of a component, in its own order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interfaces {
    /// Names such as `wasi:clocks/wall-clock@0.2.6`.
    pub imports: Vec<String>,
    /// Names such as `plugport:plugin/tools@0.1.0`.
    pub exports: Vec<String>,
}

impl Interfaces {
    pub(super) fn of(component: &Component, engine: &Engine) -> Self {
        let ty = component.component_type();
        let owned = |(name, _): (&str, _)| name.to_owned();
        Self {
            imports: ty.imports(engine).map(|(name, item)| owned((name, item))).collect(),
            exports: ty.exports(engine).map(|(name, item)| owned((name, item))).collect(),
        }
    }

    /// Whether `plugport:plugin/INTERFACE` is exported in the line of versions that this server speaks.
    #[must_use]
    pub fn exports_interface(&self, interface: &str) -> bool {
        has_interface(&self.exports, interface)
    }

    /// The same for imports.
    #[must_use]
    pub fn imports_interface(&self, interface: &str) -> bool {
        has_interface(&self.imports, interface)
    }

    /// The first interface of `plugport:plugin` in a version that this server does not speak. Exports come before
    /// imports, since they say what the component was built for.
    pub(super) fn incompatible(&self) -> Option<IncompatibleInterface<'_>> {
        let (exports, imports) = (self.exports.iter(), self.imports.iter());
        let ways = exports.map(|name| ("exports", name)).chain(imports.map(|name| ("imports", name)));
        let mut named = ways.filter_map(|(way, name)| {
            let (interface, version) = ours(name)?;
            Some(IncompatibleInterface { version, interface, way })
        });
        named.find(|named| !same_line(named.version))
    }

    /// Whether it exports an interface of `plugport:plugin` in any version.
    pub(super) fn exports_plugport(&self) -> bool {
        self.exports.iter().any(|name| ours(name).is_some())
    }

    /// The import that a message of the linker names in quotation marks.
    pub(super) fn import_in(&self, message: &str) -> Option<&str> {
        self.imports.iter().map(String::as_str).find(|import| message.contains(&format!("`{import}`")))
    }

    /// A note for an error about a component without functions: what it is instead, if its exports show that.
    pub(super) fn kind(&self) -> &'static str {
        let exports = |interface: &str| self.exports.iter().any(|name| name.starts_with(interface));
        if exports("wasi:http/") {
            ", so it is an HTTP handler and not functions"
        } else if exports("wasi:cli/run") {
            ", so it is a program and not functions"
        } else {
            ""
        }
    }
}

/// Packages of WASI of which this server has every 0.2.
const WASI_0_2: [&str; 7] = ["cli", "clocks", "filesystem", "http", "io", "random", "sockets"];

/// Packages of WASI that are drafts, with the versions that this server has; the first is the one to build with.
const WASI_DRAFTS: [(&str, &[&str]); 2] =
    [("config", &["0.2.0-rc.1", "0.2.0-draft"]), ("keyvalue", &["0.2.0-draft2"])];

/// What this server has instead of an import that it does not have, and what can be done; `None` if it has the
/// interface, in this version.
pub(super) fn instead_of(import: &str) -> Option<String> {
    let (path, version) = import.split_once('@').unwrap_or((import, UNVERSIONED));
    let (package, _) = path.split_once('/').unwrap_or((path, ""));
    let other_version = |has: &str| {
        format!("and this server has {package} in version {has}; build it with the WIT of that version")
    };
    let known = |name: &str| package.strip_prefix("wasi:") == Some(name);
    if package == "plugport:plugin" {
        return None;
    }
    if WASI_0_2.iter().any(|name| known(name)) {
        let is_released = version.starts_with("0.2.") && !version.contains('-');
        return (!is_released).then(|| other_version("0.2"));
    }
    if let Some((_, has)) = WASI_DRAFTS.iter().find(|(name, _)| known(name)) {
        return (!has.contains(&version)).then(|| other_version(has.first().unwrap_or(&"0.2")));
    }
    Some(format!(
        "which this server does not have; build it without, on the interfaces of plugport:plugin@{WIT_VERSION} and WASI \
         0.2"
    ))
}

/// Stands for the version of a name without one.
const UNVERSIONED: &str = "(no version)";

/// An interface of `plugport:plugin` in a version that this server does not speak.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IncompatibleInterface<'s> {
    pub(super) version: &'s str,
    pub(super) interface: &'s str,
    /// `exports` or `imports`.
    pub(super) way: &'static str,
}

/// Whether an interface of `plugport:plugin` is among these names, in the line of versions that this server speaks.
fn has_interface(names: &[String], interface: &str) -> bool {
    let is_it =
        |name: &String| ours(name).is_some_and(|(own, version)| own == interface && same_line(version));
    names.iter().any(is_it)
}

/// Splits `plugport:plugin/tools@0.1.0` into interface and version.
fn ours(name: &str) -> Option<(&str, &str)> {
    let name = name.strip_prefix("plugport:plugin/")?;
    Some(name.split_once('@').unwrap_or((name, UNVERSIONED)))
}

/// Before 1.0, a line of compatible versions is major and minor.
fn same_line(version: &str) -> bool {
    let line = |version: &str| version.rsplit_once('.').map(|(line, _)| line.to_owned());
    line(version) == line(WIT_VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_in_another_version_is_told_which_one_there_is() {
        for (import, expected) in [
            ("wasi:keyvalue/store@0.2.0-draft", "and this server has wasi:keyvalue in version 0.2.0-draft2;"),
            ("wasi:config/store@0.2.0-rc.2", "and this server has wasi:config in version 0.2.0-rc.1;"),
            ("wasi:http/types@0.2.0-rc-2023-12-05", "and this server has wasi:http in version 0.2;"),
            ("wasi:clocks/wall-clock@0.3.0", "and this server has wasi:clocks in version 0.2;"),
            ("wasi:logging/logging", "which this server does not have;"),
            ("acme:radio/tune@1.0.0", "which this server does not have;"),
            ("beep", "which this server does not have;"),
        ] {
            let here = instead_of(import).unwrap_or_default();
            assert!(here.starts_with(expected), "{import}: {here}");
        }
        for import in
            ["wasi:http/types@0.2.9", "wasi:config/store@0.2.0-draft", "plugport:plugin/types@0.1.0"]
        {
            assert_eq!(instead_of(import), None, "{import}");
        }
    }

    #[test]
    fn a_later_patch_is_ours_and_another_minor_is_not() {
        let interfaces = |name: &str| Interfaces { imports: Vec::new(), exports: vec![name.to_owned()] };
        assert!(interfaces("plugport:plugin/tools@0.1.0").exports_interface("tools"));
        assert!(interfaces("plugport:plugin/tools@0.1.7").exports_interface("tools"));
        assert!(!interfaces("plugport:plugin/tools@0.2.0").exports_interface("tools"));
        assert!(!interfaces("plugport:plugin/tools@0.1.0").exports_interface("prompts"));
    }

    #[test]
    fn a_foreign_version_is_found_among_exports_and_imports() {
        let interfaces = |import: &str, export: &str| Interfaces {
            imports: vec!["wasi:io/poll@0.2.6".to_owned(), import.to_owned()],
            exports: vec![export.to_owned()],
        };
        let ours = ("plugport:plugin/request@0.1.3", "plugport:plugin/tools@0.1.0");
        assert_eq!(interfaces(ours.0, ours.1).incompatible(), None);
        let later = |interface, way| Some(IncompatibleInterface { version: "0.2.0", interface, way });
        assert_eq!(
            interfaces(ours.0, "plugport:plugin/tools@0.2.0").incompatible(),
            later("tools", "exports")
        );
        assert_eq!(
            interfaces("plugport:plugin/request@0.2.0", ours.1).incompatible(),
            later("request", "imports")
        );
        let both = interfaces("plugport:plugin/request@0.2.0", "plugport:plugin/tools@0.2.0");
        assert_eq!(both.incompatible(), later("tools", "exports"));
        assert_eq!(
            interfaces("plugport:plugin/request@0.2.0", "run").incompatible(),
            later("request", "imports")
        );
        let unversioned = interfaces(ours.0, "plugport:plugin/tools");
        assert_eq!(unversioned.incompatible().map(|found| found.version), Some(UNVERSIONED));
    }
}
