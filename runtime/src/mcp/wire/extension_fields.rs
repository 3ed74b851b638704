//! The additional fields of a plugin's items and results, as far as a revision has them.
//!
//! A field that no revision defines is sent, because a later revision may define it. A field of a newer revision is
//! omitted for older revisions, so that every message is valid in its own revision.

use serde::ser::SerializeMap;

use super::super::error::cut;
use super::super::revision::Revision;
use crate::config::{UiGrant, check_ui_fields};
use crate::json::RawObject;

/// Maximum length of what is said of fields for an app, in bytes. They come from a guest, and may be as long as a result.
const UI_ERROR_BYTES: usize = 1 << 10;

/// Parses additional fields.
///
/// # Errors
/// When they are not a JSON object.
pub(super) fn read_extra(extra: Option<&String>) -> Result<RawObject, String> {
    let fields = extra.map(|text| RawObject::parse(text)).transpose();
    let fields = fields.map(Option::unwrap_or_default);
    let fields = fields.map_err(|_| "its extra fields are not a JSON object".to_owned())?;
    match fields.get("_meta") {
        Some(meta) if !meta.get().starts_with('{') => Err("its `_meta` is not a JSON object".to_owned()),
        _ => Ok(fields),
    }
}

/// The same for what a host may take for an app, which asks for no more than is granted.
///
/// # Errors
/// When they are not a JSON object, or ask for more.
pub(super) fn read_app_extra(extra: Option<&String>, granted: &UiGrant) -> Result<RawObject, String> {
    let fields = read_extra(extra)?;
    check_ui_fields(&fields, granted).map_err(|error| cut(&error.to_string(), UI_ERROR_BYTES).to_owned())?;
    Ok(fields)
}

/// Writes the fields of `extra` that are not among `own`.
pub(super) fn write_fields<M: SerializeMap>(
    map: &mut M,
    extra: &RawObject,
    own: &[&str],
    revision: Revision,
) -> Result<(), M::Error> {
    for (name, value) in extra.iter().filter(|(name, _)| !own.contains(name) && has_field(revision, name)) {
        map.serialize_entry(name, value)?;
    }
    Ok(())
}

/// Whether items have this field in a revision.
pub(super) fn has_field(revision: Revision, name: &str) -> bool {
    match name {
        "_meta" => revision.has_item_meta(),
        "icons" => revision.has_icons(),
        "execution" => revision.has_execution(),
        _ => true,
    }
}

/// Writes the title and the description, which most items have.
pub(super) fn write_title_and_description<M: SerializeMap>(
    map: &mut M,
    title: Option<&String>,
    description: Option<&String>,
    revision: Revision,
) -> Result<(), M::Error> {
    if let Some(title) = title.filter(|_| revision.has_titles()) {
        map.serialize_entry("title", title)?;
    }
    if let Some(description) = description {
        map.serialize_entry("description", description)?;
    }
    Ok(())
}
