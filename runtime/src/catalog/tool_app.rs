//! The app of a tool in its further fields, as MCP has it: `_meta.ui.resourceUri`.
//!
//! An app may call tools of the whole server, also those of other plugins: each tool that does not say otherwise. So a
//! tool without an app that says nothing is for models only.

use serde_json::value::{RawValue, to_raw_value};

use crate::json::RawObject;

/// The field of `_meta.ui` with the URI of the app.
const RESOURCE_URI: &str = "resourceUri";

/// An older field of `_meta` for the same, which hosts still read.
const OLD_RESOURCE_URI: &str = "ui/resourceUri";

/// The URI of the app that the further fields of a tool name.
pub(super) fn app_uri(fields: &RawObject) -> Option<String> {
    let meta = object(fields, "_meta")?;
    let ui = object(&meta, "ui");
    let named = ui.as_ref().and_then(|ui| ui.get(RESOURCE_URI)).or_else(|| meta.get(OLD_RESOURCE_URI));
    serde_json::from_str(named?.get()).ok()
}

/// Whether the further fields of a tool say that apps may call it.
pub(super) fn is_for_apps(fields: &RawObject) -> bool {
    let ui = object(fields, "_meta").and_then(|meta| object(&meta, "ui"));
    let visibility = ui.and_then(|ui| serde_json::from_str::<Vec<String>>(ui.get("visibility")?.get()).ok());
    visibility.is_some_and(|visibility| visibility.iter().any(|whose| whose == "app"))
}

/// The further fields of a tool with the URI of an app, or without an app. Everything else stays as it was written, and
/// so does all of it where `_meta` or `ui` is no object.
pub(super) fn with_app(fields: RawObject, uri: Option<&str>) -> RawObject {
    match changed_meta(&fields, uri) {
        Some(meta) => fields.with("_meta", meta),
        None => fields,
    }
}

fn changed_meta(fields: &RawObject, uri: Option<&str>) -> Option<Box<RawValue>> {
    let inner = |fields: &RawObject, name: &str| match fields.get(name) {
        Some(_) => object(fields, name),
        None => Some(RawObject::default()),
    };
    let meta = inner(fields, "_meta")?;
    let ui = inner(&meta, "ui")?.without(|name| name == RESOURCE_URI);
    let ui = match uri {
        Some(uri) => ui.with(RESOURCE_URI, to_raw_value(uri).ok()?),
        None if ui.get("visibility").is_some() => ui,
        None => ui.with("visibility", to_raw_value(&["model"]).ok()?),
    };
    let meta = meta.without(|name| name == OLD_RESOURCE_URI).with("ui", to_raw_value(&ui).ok()?);
    to_raw_value(&meta).ok()
}

fn object(fields: &RawObject, name: &str) -> Option<RawObject> {
    RawObject::parse(fields.get(name)?.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_tool_that_says_so_is_for_apps() {
        let of = |text: &str| is_for_apps(&RawObject::parse(text).unwrap());
        assert!(of(r#"{"_meta":{"ui":{"visibility":["model","app"]}}}"#));
        assert!(!of(r#"{"_meta":{"ui":{"visibility":["model"]}}}"#));
        assert!(!of(r#"{"_meta":{"ui":{"visibility":"app"}}}"#));
        assert!(!of("{}"));
    }
}
