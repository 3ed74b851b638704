//! The field `cacheScope` of results that clients may cache.

use serde::Serialize;

/// Whether a cache between client and server may give the result for one caller to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in super::super) enum CacheScope {
    Public,
    Private,
}
