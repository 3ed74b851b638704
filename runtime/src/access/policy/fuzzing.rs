//! Functions for the fuzz targets in `tests/fuzz`: patterns and conditions. They are hidden and always compiled: a
//! cargo feature would make the tests build this package twice.

use super::arguments::{self, Arguments};
use crate::config::{AllowedValue, ArgumentCondition, ArgumentPointer, PathGlob, PathValue};

/// Whether a path pattern matches a value; `None` if the pattern is invalid.
#[must_use]
pub fn path_matches(pattern: &str, value: &str) -> Option<bool> {
    let glob = PathGlob::parse(pattern).ok()?;
    Some(PathValue::new(value).is_some_and(|value| glob.matches(&value)))
}

/// Whether arguments are allowed by a condition: the value at `pointer` must match a path pattern. `None` if the
/// pointer or the pattern is invalid.
#[must_use]
pub fn arguments_allowed(pointer: &str, pattern: &str, arguments: &str) -> Option<bool> {
    let condition = ArgumentCondition {
        pointer: ArgumentPointer::parse(pointer).ok()?,
        values: vec![AllowedValue::Text(PathGlob::parse(pattern).ok()?)],
        may_be_absent: false,
        line: 1,
    };
    Some(arguments::check(&[&condition], Arguments::new(arguments)) == [None])
}
