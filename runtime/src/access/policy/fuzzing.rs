//! Patterns and conditions, for the fuzz targets in `tests/fuzz`. Hidden, and always compiled: with a feature of its
//! own the package would be built twice for the tests.

use super::arguments::{self, Arguments};
use crate::config::{AllowedValue, ArgumentCondition, ArgumentPointer, PathGlob, PathValue};

/// Whether a pattern of paths matches a value; `None` if it is no pattern.
#[must_use]
pub fn path_matches(pattern: &str, value: &str) -> Option<bool> {
    let glob = PathGlob::parse(pattern).ok()?;
    Some(PathValue::new(value).is_some_and(|value| glob.matches(&value)))
}

/// Whether arguments are allowed if the value at `pointer` has to match a pattern of paths; `None` if one of the two
/// cannot be parsed.
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
