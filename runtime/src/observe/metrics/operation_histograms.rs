//! Durations of requests by item, and by how the request ended.
//!
//! An item that clients call holds its own histograms in an [`ItemHistograms`], so that a call reaches them without a
//! lock and without hashing the item's name. The table that a scrape reads has the same histograms by name. Versions of
//! a plugin that replace each other share them, so the sums continue after a reload.
//!
//! The table holds the names of published items only, and a bounded number of them.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use super::histogram::{Histogram, HistogramSnapshot};

/// Values of the label `error_type`; the first stands for a request without an error.
const ERROR_TYPES: [&str; 16] = [
    "",
    "tool_error",
    "cancelled",
    "_OTHER",
    "-32700",
    "-32600",
    "-32601",
    "-32602",
    "-32603",
    "-32002",
    "-32010",
    "-32011",
    "-32020",
    "-32021",
    "-32022",
    "-32042",
];

/// How a request ended: one of a fixed number of types, because a guest chooses its error codes freely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorType(usize);

impl ErrorType {
    /// The request has a result that is no error.
    pub const NONE: Self = Self(0);
    /// The request has a result, in which the tool says that it failed.
    pub const TOOL_ERROR: Self = Self(1);
    /// The request was cancelled, or its client went away.
    pub const CANCELLED: Self = Self(2);
    const OTHER: Self = Self(3);

    /// The request has an error response with this code.
    #[must_use]
    pub fn of_code(code: i64) -> Self {
        ERROR_TYPES.iter().position(|text| text.parse::<i64>() == Ok(code)).map_or(Self::OTHER, Self)
    }
}

/// The durations of one kind of request.
#[derive(Debug, Default)]
pub struct OperationHistograms {
    /// One histogram for each [`ErrorType`], allocated when the first request ends with that type.
    by_error: [OnceLock<Box<Histogram>>; ERROR_TYPES.len()],
}

impl OperationHistograms {
    /// Counts a request.
    pub fn record(&self, time: Duration, error: ErrorType) {
        if let Some(histogram) = self.by_error.get(error.0) {
            histogram.get_or_init(Box::default).record(time);
        }
    }

    /// The histograms now, each with its error type; `None` stands for requests without an error.
    pub fn read(&self) -> impl Iterator<Item = (Option<&'static str>, HistogramSnapshot)> {
        let named = ERROR_TYPES.iter().zip(&self.by_error);
        named.filter_map(|(name, histogram)| {
            Some((Some(*name).filter(|name| !name.is_empty()), histogram.get()?.read()))
        })
    }
}

/// The histograms of one item. The first call gets them from the table; from then on the item holds them.
#[derive(Debug, Default)]
pub struct ItemHistograms(OnceLock<Option<Arc<OperationHistograms>>>);

impl ItemHistograms {
    /// Returns the item's histograms, which the first call gets from `table`. `None`: the table is full, or this item
    /// is not counted.
    pub fn of(
        &self,
        table: impl FnOnce() -> Option<Arc<OperationHistograms>>,
    ) -> Option<&Arc<OperationHistograms>> {
        self.0.get_or_init(table).as_ref()
    }
}

/// The histograms of items by name.
#[derive(Debug)]
pub struct HistogramsByName {
    max: usize,
    by_name: Mutex<HashMap<String, Arc<OperationHistograms>>>,
}

impl HistogramsByName {
    /// A table for at most `max` items.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { max, by_name: Mutex::default() }
    }

    /// Returns the histograms of the item with this name. If the table is full, entries that no item holds any more are
    /// removed first; if all are held, the result is `None`, and the item is not counted.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<OperationHistograms>> {
        let mut by_name = self.by_name.lock();
        if let Some(known) = by_name.get(name) {
            return Some(Arc::clone(known));
        }
        if by_name.len() >= self.max {
            by_name.retain(|_, histograms| Arc::strong_count(histograms) > 1);
        }
        if by_name.len() >= self.max {
            return None;
        }
        Some(Arc::clone(by_name.entry(name.to_owned()).or_default()))
    }

    /// The histograms of published items by name, sorted. Entries whose item is neither published nor held by anyone
    /// are removed.
    pub fn read(&self, is_published: impl Fn(&str) -> bool) -> Vec<(String, Arc<OperationHistograms>)> {
        let mut by_name = self.by_name.lock();
        by_name.retain(|name, histograms| Arc::strong_count(histograms) > 1 || is_published(name));
        // An item that is unpublished for a while keeps its sums, but a scrape does not show them.
        let shown = by_name.iter().filter(|(name, _)| is_published(name));
        let mut shown: Vec<_> = shown.map(|(name, known)| (name.clone(), Arc::clone(known))).collect();
        shown.sort_by(|(one, _), (other, _)| one.cmp(other));
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_a_type_of_its_own_or_is_one_of_the_others() {
        let histograms = OperationHistograms::default();
        let codes = [-32602, -32602, 7, i64::MAX].map(ErrorType::of_code);
        for error in [ErrorType::NONE, ErrorType::TOOL_ERROR, ErrorType::CANCELLED].into_iter().chain(codes) {
            histograms.record(Duration::ZERO, error);
        }
        let read: Vec<_> = histograms.read().map(|(name, histogram)| (name, histogram.count)).collect();
        let expected = [
            (None, 1),
            (Some("tool_error"), 1),
            (Some("cancelled"), 1),
            (Some("_OTHER"), 2),
            (Some("-32602"), 2),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn versions_of_an_item_share_their_sums() {
        let table = HistogramsByName::new(9);
        for _ in 0..2 {
            let item = ItemHistograms::default();
            for _ in 0..2 {
                item.of(|| table.get("a")).unwrap().record(Duration::ZERO, ErrorType::NONE);
            }
        }
        let read = table.read(|_| true);
        let count: u64 = read.iter().flat_map(|(_, known)| known.read()).map(|(_, now)| now.count).sum();
        assert_eq!((read.len(), count), (1, 4));
    }

    #[test]
    fn names_that_come_and_go_do_not_pile_up() {
        let table = HistogramsByName::new(4);
        for number in 0..1_000 {
            assert!(table.get(&number.to_string()).is_some());
            assert!(table.by_name.lock().len() <= 4);
        }
        let held: Vec<_> = (0..4).filter_map(|number| table.get(&format!("held{number}"))).collect();
        assert_eq!(held.len(), 4);
        assert!(table.get("one too many").is_none());
        assert_eq!(table.read(|name| name == "held1").len(), 1);
        assert_eq!(table.by_name.lock().len(), 4, "hidden items keep their sums");
        drop(held);
        assert!(table.read(|_| false).is_empty() && table.by_name.lock().is_empty());
    }
}
