//! Annotations of content and resources.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::super::revision::Revision;
use crate::plugin::{Annotations, Role};

/// Annotations in the form of one revision.
pub(super) struct AnnotationsView<'a>(pub(super) &'a Annotations, pub(super) Revision);

impl Serialize for AnnotationsView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(annotations, revision) = self;
        let mut map = serializer.serialize_map(None)?;
        if !annotations.audience.is_empty() {
            let names: Vec<&str> = annotations.audience.iter().map(|role| role_name(*role)).collect();
            map.serialize_entry("audience", &names)?;
        }
        if let Some(priority) = annotations.priority.filter(|priority| (0.0..=1.0).contains(priority)) {
            map.serialize_entry("priority", &priority)?;
        }
        if let Some(modified) = annotations.last_modified.as_ref().filter(|_| revision.has_last_modified()) {
            map.serialize_entry("lastModified", modified)?;
        }
        map.end()
    }
}

/// The name of a role in messages.
pub(super) fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}
