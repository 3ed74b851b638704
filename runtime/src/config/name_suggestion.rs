//! Suggests a plugin for a section that names no plugin, such as `[plugins."hello.wasm"]` or `[plugins.Hello]`.

use std::collections::BTreeMap;

use super::{Config, toml_reader};

impl Config {
    /// The plugin that the section `name`, which names no plugin, was most likely meant for: one of `plugins` that has
    /// no section of its own.
    pub fn suggest_plugin<'n>(&self, name: &str, plugins: impl Iterator<Item = &'n str>) -> Option<&'n str> {
        let without_section: Vec<&str> =
            plugins.filter(|plugin| !self.plugins.contains_key(*plugin)).collect();
        toml_reader::nearest(name.strip_suffix(".wasm").unwrap_or(name), &without_section)
    }

    /// Warnings about sections whose names differ in case only, one sentence for each two. There can be a plugin for each
    /// section, so this is no error.
    pub(super) fn case_collisions(&self) -> Vec<String> {
        let mut seen = BTreeMap::new();
        let alike =
            self.plugins.keys().filter_map(|name| Some((seen.insert(name.to_lowercase(), name)?, name)));
        let warning = |(one, other): (&String, &String)| {
            format!(
                "[plugins.{one}] and [plugins.{other}] are for two plugins, {one}.wasm and {other}.wasm; if one plugin is meant, \
                 make one section of them"
            )
        };
        alike.map(warning).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(sections: &[&str]) -> Config {
        let mut config = Config::new("plugins".into());
        let sections = sections.iter().map(|name| ((*name).to_owned(), config.plugin(name)));
        config.plugins = sections.collect();
        config
    }

    #[test]
    fn sections_that_differ_in_case_only_get_a_warning() {
        let warnings = config(&["hello", "Hello", "notes"]).warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].starts_with("[plugins.Hello] and [plugins.hello] are for two plugins"),
            "{warnings:?}"
        );
        assert!(config(&["hello", "hallo"]).warnings().is_empty());
    }

    #[test]
    fn a_section_of_no_plugin_is_likely_meant_for_another() {
        let plugins = ["hello", "notes", "clock", "calc"];
        let suggest_plugin = |name: &str, more: &[&str]| {
            config(&[&[name], more].concat()).suggest_plugin(name, plugins.into_iter())
        };
        assert_eq!(suggest_plugin("hello.wasm", &[]), Some("hello"));
        assert_eq!(suggest_plugin("Notes", &[]), Some("notes"));
        assert_eq!(
            (suggest_plugin("note", &[]), suggest_plugin("clok", &[])),
            (Some("notes"), Some("clock"))
        );
        assert_eq!((suggest_plugin("weather", &[]), suggest_plugin("x", &[])), (None, None));
        assert_eq!(suggest_plugin("note", &["notes"]), None, "that one has a section of its own");
    }
}
