//! Which tools show their results in which app.
//!
//! A tool names its app as `ui:PATH`, since it does not know its plugin's URIs, or the file about the app names the
//! tool, for components that know nothing of MCP. Clients get the app's URI. A tool whose app is not published is
//! published without it: it works without, and a client could not read the app.

use std::collections::{BTreeMap, BTreeSet};

use super::super::tool_app::{app_uri, with_app};
use super::app::{APP_SUFFIX, META_SUFFIX};
use crate::json::RawObject;

/// The scheme that stands for the plugin's own apps.
const OWN: &str = "ui:";

/// The apps of a plugin.
#[derive(Debug, Default)]
pub(in super::super) struct ToolLinks {
    /// The URI of each published app by its path, and `None` for others.
    apps: BTreeMap<String, Option<String>>,
    /// The path of the app of a tool that the file about the app names.
    tools: BTreeMap<String, String>,
    /// Tools that files name once more, each with the path of the app.
    repeated: Vec<(String, String)>,
}

/// A tool with its app.
#[derive(Debug, Default)]
pub(in super::super) struct LinkedTool {
    /// Its further fields as clients get them.
    pub(in super::super) extra: RawObject,
    /// The path of its app among those of its plugin, published or not.
    pub(in super::super) app: Option<String>,
    /// Whether the plugin ships no file of that path.
    pub(in super::super) is_missing: bool,
}

impl ToolLinks {
    /// Adds an app, which has a URI if it is published, and the tools that its file names.
    pub(super) fn add(&mut self, path: &str, uri: Option<&str>, tools: Vec<String>) {
        self.apps.insert(path.to_owned(), uri.map(str::to_owned));
        // The first app that names a tool has it.
        for tool in tools {
            match self.tools.contains_key(&tool) {
                true => self.repeated.push((path.to_owned(), tool)),
                false => drop(self.tools.insert(tool, path.to_owned())),
            }
        }
    }

    /// The further fields of a tool with the URI of its app.
    pub(in super::super) fn link(&self, tool: &str, fields: RawObject) -> LinkedTool {
        let named = app_uri(&fields);
        let app = match &named {
            Some(named) => own_path(named).map(str::to_owned),
            None => self.tools.get(tool).cloned(),
        };
        let known = app.as_ref().map(|path| self.apps.get(path));
        let is_missing = known.is_some_and(|known| known.is_none());
        let extra = match (&named, known.flatten()) {
            // What the tool says of another app stays.
            (Some(_), None) if app.is_none() => fields,
            (_, known) => with_app(fields, known.and_then(Option::as_deref)),
        };
        LinkedTool { extra, app, is_missing }
    }

    /// The mistakes in the names of tools of the files about apps, each by the path of the file.
    pub(in super::super) fn mistakes(&self, tools: &BTreeSet<&str>) -> Vec<(String, String)> {
        let about = |app: &str| format!("ui/{}{META_SUFFIX}", app.strip_suffix(APP_SUFFIX).unwrap_or(app));
        let unknown = self.tools.iter().filter(|(tool, _)| !tools.contains(tool.as_str()));
        let unknown = unknown.map(|(tool, app)| {
            let why =
                format!("it names the tool `{tool}`, and the plugin lists none of that name of its own");
            (about(app), why)
        });
        let repeated = self.repeated.iter().map(|(app, tool)| {
            (about(app), format!("it names the tool `{tool}`, which has an app already; name it once"))
        });
        unknown.chain(repeated).collect()
    }
}

/// The path of `ui:PATH`.
fn own_path(uri: &str) -> Option<&str> {
    uri.strip_prefix(OWN).filter(|path| !path.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links() -> ToolLinks {
        let mut links = ToolLinks::default();
        links.add("table.html", Some("ui://p/table.html"), vec!["sort".to_owned(), "sort".to_owned()]);
        links.add("far.html", None, vec!["show".to_owned(), "sort".to_owned()]);
        links
    }

    fn linked(tool: &str, extra: &str) -> (String, Option<String>) {
        let linked = links().link(tool, RawObject::parse(extra).unwrap());
        (serde_json::to_string(&linked.extra).unwrap(), linked.app)
    }

    #[test]
    fn a_tool_names_its_app_by_path_and_clients_get_the_uri() {
        let extra = r#"{"a":1.00,"_meta":{"b":2,"ui":{"resourceUri":"ui:table.html","visibility":["app"]}}}"#;
        let expected =
            r#"{"a":1.00,"_meta":{"b":2,"ui":{"visibility":["app"],"resourceUri":"ui://p/table.html"}}}"#;
        assert_eq!(linked("x", extra), (expected.to_owned(), Some("table.html".to_owned())));
        let old = r#"{"_meta":{"ui/resourceUri":"ui:table.html"}}"#;
        assert_eq!(linked("x", old).0, r#"{"_meta":{"ui":{"resourceUri":"ui://p/table.html"}}}"#);
        let far = r#"{"_meta":{"ui":{"resourceUri":"ui:far.html","visibility":["app"]}}}"#;
        let without = r#"{"_meta":{"ui":{"visibility":["app"]}}}"#.to_owned();
        assert_eq!(linked("x", far), (without, Some("far.html".to_owned())));
        let missing = links().link("x", RawObject::parse(&extra.replace("table", "none")).unwrap());
        assert!(missing.is_missing && app_uri(&missing.extra).is_none(), "{missing:?}");
        assert_eq!(missing.app.as_deref(), Some("none.html"));
    }

    #[test]
    fn an_app_can_name_its_tools() {
        let expected = r#"{"_meta":{"ui":{"resourceUri":"ui://p/table.html"}}}"#;
        assert_eq!(linked("sort", "{}").0, expected);
        assert_eq!(linked("sort", r#"{"_meta":{}}"#).0, expected);
        assert_eq!(linked("show", "{}").1.as_deref(), Some("far.html"), "also while it is not published");
        let own = r#"{"_meta":{"ui":{"resourceUri":"ui://elsewhere/x"}}}"#;
        assert_eq!(linked("sort", own), (own.to_owned(), None), "what the tool says itself counts");
        let mistakes = links().mistakes(&BTreeSet::from(["sort"]));
        let files: Vec<_> = mistakes.iter().map(|(file, _)| file.as_str()).collect();
        assert_eq!(files, ["ui/far.meta.json", "ui/table.meta.json", "ui/far.meta.json"], "{mistakes:?}");
        assert!(mistakes[0].1.contains("`show`") && mistakes[1].1.contains("`sort`"), "{mistakes:?}");
    }

    #[test]
    fn a_tool_without_an_app_that_says_nothing_is_for_models_only() {
        let model = r#"{"_meta":{"ui":{"visibility":["model"]}}}"#;
        assert_eq!(linked("other", "{}"), (model.to_owned(), None));
        assert_eq!(linked("show", "{}").0, model);
        let says = r#"{"_meta":{"ui":{"visibility":["model","app"]}}}"#;
        assert_eq!(linked("other", says).0, says);
        let shown = RawObject::parse(&linked("sort", "{}").0).unwrap();
        assert_eq!(serde_json::to_string(&with_app(shown, None)).unwrap(), model, "as if it had none");
    }

    #[test]
    fn what_is_no_object_stays() {
        for extra in [r#"{"_meta":[]}"#, r#"{"_meta":{"ui":1}}"#] {
            assert_eq!(linked("x", extra).0, extra);
            assert_eq!(linked("sort", extra).0, extra);
        }
    }
}
