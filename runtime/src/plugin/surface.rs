//! What a component asks for and offers, as names: for `inspect`, and for telling an author why a component is not a
//! plugin. Read from the component's type; nothing is run.

use wasmtime::Engine;
use wasmtime::component::Component;

/// The version of `plugport:plugin` that this server speaks. Guests built against a later patch level load too.
pub const WIT_VERSION: &str = "0.1.0";

/// Imports and exports of a component, in its own order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surface {
    /// Names such as `wasi:clocks/wall-clock@0.2.6`.
    pub imports: Vec<String>,
    /// Names such as `plugport:plugin/tools@0.1.0`.
    pub exports: Vec<String>,
}

impl Surface {
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
    pub fn offers(&self, interface: &str) -> bool {
        self.exports
            .iter()
            .any(|name| ours(name).is_some_and(|(found, version)| found == interface && same_line(version)))
    }

    /// The versions of `plugport:plugin` that the component exports, other than ours.
    pub(super) fn foreign_versions(&self) -> Vec<&str> {
        let versions = self.exports.iter().filter_map(|name| ours(name)).map(|(_, version)| version);
        versions.filter(|version| !same_line(version)).collect()
    }
}

/// Splits `plugport:plugin/tools@0.1.0` into interface and version.
fn ours(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("plugport:plugin/")?.split_once('@')
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
        let surface = |name: &str| Surface { imports: Vec::new(), exports: vec![name.to_owned()] };
        assert!(surface("plugport:plugin/tools@0.1.0").offers("tools"));
        assert!(surface("plugport:plugin/tools@0.1.7").offers("tools"));
        assert!(!surface("plugport:plugin/tools@0.2.0").offers("tools"));
        assert!(!surface("plugport:plugin/tools@0.1.0").offers("prompts"));
        assert_eq!(surface("plugport:plugin/tools@0.2.0").foreign_versions(), ["0.2.0"]);
    }
}
