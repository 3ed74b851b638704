//! The result of `completion/complete`.

use serde::Serialize;
use serde::ser::SerializeMap;

use super::super::result_writer::ResultFields;
use super::super::revision::Revision;
use crate::plugin::Completion;

/// The result of `completion/complete`.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct CompletionView<'a> {
    values: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u32>,
    has_more: bool,
}

impl<'a> CompletionView<'a> {
    pub(in super::super) fn new(completion: &'a Completion) -> Self {
        Self { values: &completion.values, total: completion.total, has_more: completion.has_more }
    }
}

impl ResultFields for CompletionView<'_> {
    fn write<M: SerializeMap>(&self, map: &mut M, _: Revision) -> Result<(), M::Error> {
        map.serialize_entry("completion", self)
    }
}
