//! Which tools show their results in which app.
//!
//! A tool names its app as `ui:PATH`, since it does not know its plugin's URIs, or the file about the app names the
//! tool, for components that know nothing of MCP. Clients get the app's URI. A tool whose app is not published is
//! published without it: it works without, and a client could not read the app.

use std::collections::BTreeMap;

use serde_json::value::{RawValue, to_raw_value};

use crate::json::RawObject;

/// The scheme that stands for the plugin's own apps.
const OWN: &str = "ui:";

/// The apps of a plugin.
#[derive(Debug, Default)]
pub(in super::super) struct ToolLinks {
    /// The URI of each published app by its path, and `None` for others.
    apps: BTreeMap<String, Option<String>>,
    /// The URI of the app of a tool that its file names.
    tools: BTreeMap<String, String>,
}

impl ToolLinks {
    pub(super) fn add(&mut self, path: &str, uri: &str, tools: Vec<String>) {
        self.apps.insert(path.to_owned(), Some(uri.to_owned()));
        // The first app that names a tool has it.
        for tool in tools {
            self.tools.entry(tool).or_insert_with(|| uri.to_owned());
        }
    }

    pub(super) fn add_rejected(&mut self, path: &str) {
        self.apps.insert(path.to_owned(), None);
    }

    /// The further fields of a tool with the URI of its app.
    ///
    /// # Errors
    /// With the path, when the tool names an app that the plugin does not ship. The fields are those without it.
    pub(in super::super) fn link(
        &self,
        tool: &str,
        extra: Option<String>,
    ) -> Result<Option<String>, (Option<String>, String)> {
        // What cannot be read is reported when the tool is validated.
        let Ok(fields) = RawObject::parse(extra.as_deref().unwrap_or("{}")) else { return Ok(extra) };
        let named = named_uri(&fields);
        match (named.as_deref().and_then(own_path), self.tools.get(tool)) {
            (Some(path), _) => match self.apps.get(path) {
                Some(uri) => Ok(with_uri(&fields, uri.as_deref()).or(extra)),
                None => Err((with_uri(&fields, None).or(extra), path.to_owned())),
            },
            (None, Some(uri)) if named.is_none() => Ok(with_uri(&fields, Some(uri)).or(extra)),
            _ => Ok(extra),
        }
    }
}

/// The path of `ui:PATH`.
fn own_path(uri: &str) -> Option<&str> {
    uri.strip_prefix(OWN).filter(|path| !path.starts_with('/'))
}

fn object(fields: &RawObject, name: &str) -> Option<RawObject> {
    RawObject::parse(fields.get(name)?.get()).ok()
}

fn named_uri(fields: &RawObject) -> Option<String> {
    let ui = object(&object(fields, "_meta")?, "ui")?;
    serde_json::from_str(ui.get("resourceUri")?.get()).ok()
}

/// The fields with another `_meta.ui.resourceUri`, or without one. Everything else stays as it was written. `None`: it
/// cannot be set, because `_meta` or `ui` is no object.
fn with_uri(fields: &RawObject, uri: Option<&str>) -> Option<String> {
    let inner = |fields: &RawObject, name: &str| match fields.get(name) {
        Some(_) => object(fields, name),
        None => Some(RawObject::default()),
    };
    let meta = inner(fields, "_meta")?;
    let ui = inner(&meta, "ui")?;
    let ui = with_field(&ui, "resourceUri", uri.map(to_raw_value).transpose().ok()?)?;
    let meta = with_field(&meta, "ui", Some(ui))?;
    with_field(fields, "_meta", Some(meta)).map(|fields| fields.get().to_owned())
}

fn with_field(fields: &RawObject, name: &str, value: Option<Box<RawValue>>) -> Option<Box<RawValue>> {
    let others = fields.iter().filter(|(other, _)| *other != name);
    let all: Vec<(&str, &RawValue)> = others.chain(value.as_deref().map(|value| (name, value))).collect();
    to_raw_value(&Fields(&all)).ok()
}

struct Fields<'a>(&'a [(&'a str, &'a RawValue)]);

impl serde::Serialize for Fields<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links() -> ToolLinks {
        let mut links = ToolLinks::default();
        links.add("table.html", "ui://p/table.html", vec!["sort".to_owned()]);
        links.add_rejected("far.html");
        links
    }

    fn linked(tool: &str, extra: &str) -> Option<String> {
        links().link(tool, Some(extra.to_owned())).unwrap()
    }

    #[test]
    fn a_tool_names_its_app_by_path_and_clients_get_the_uri() {
        let extra = r#"{"a":1.00,"_meta":{"b":2,"ui":{"resourceUri":"ui:table.html","visibility":["app"]}}}"#;
        let expected =
            r#"{"a":1.00,"_meta":{"b":2,"ui":{"visibility":["app"],"resourceUri":"ui://p/table.html"}}}"#;
        assert_eq!(linked("x", extra).as_deref(), Some(expected));
        let far = r#"{"_meta":{"ui":{"resourceUri":"ui:far.html","visibility":["app"]}}}"#;
        assert_eq!(linked("x", far).as_deref(), Some(r#"{"_meta":{"ui":{"visibility":["app"]}}}"#));
        let (without, path) = links().link("x", Some(extra.replace("table", "none"))).unwrap_err();
        assert_eq!(path, "none.html");
        assert!(without.is_some_and(|without| !without.contains("resourceUri")));
    }

    #[test]
    fn an_app_can_name_its_tools() {
        let expected = r#"{"_meta":{"ui":{"resourceUri":"ui://p/table.html"}}}"#;
        assert_eq!(links().link("sort", None).unwrap().as_deref(), Some(expected));
        assert_eq!(linked("sort", r#"{"_meta":{}}"#).as_deref(), Some(expected));
        assert_eq!(links().link("other", None), Ok(None));
        let own = r#"{"_meta":{"ui":{"resourceUri":"ui://elsewhere/x"}}}"#;
        assert_eq!(linked("sort", own).as_deref(), Some(own), "what the tool says itself counts");
    }

    #[test]
    fn what_is_no_object_stays_for_validation_to_reject() {
        for extra in ["[", r#"{"_meta":[]}"#, r#"{"_meta":{"ui":1}}"#, "{}"] {
            assert_eq!(linked("x", extra).as_deref(), Some(extra));
        }
        assert_eq!(linked("sort", r#"{"_meta":[]}"#).as_deref(), Some(r#"{"_meta":[]}"#));
    }
}
