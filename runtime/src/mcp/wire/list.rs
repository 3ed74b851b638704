//! Writes lists of items, in the same way for all four kinds.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::super::revision::Revision;

/// An item of a list.
pub(in super::super) trait ListItem {
    /// The name of the list's field in the result.
    const FIELD: &'static str;

    /// Writes the fields of the item that `revision` has.
    fn show<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error>;
}

/// One page of a list.
pub(in super::super) struct ItemViews<'a, T> {
    pub(in super::super) items: &'a [Arc<T>],
    pub(in super::super) revision: Revision,
}

struct ItemView<'a, T> {
    item: &'a T,
    revision: Revision,
}

impl<T: ListItem> Serialize for ItemViews<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.items.len()))?;
        for item in self.items {
            list.serialize_element(&ItemView { item: &**item, revision: self.revision })?;
        }
        list.end()
    }
}

impl<T: ListItem> Serialize for ItemView<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.item.show(&mut map, self.revision)?;
        map.end()
    }
}
