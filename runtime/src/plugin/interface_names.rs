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
        self.exports
            .iter()
            .any(|name| ours(name).is_some_and(|(own, version)| own == interface && same_line(version)))
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
