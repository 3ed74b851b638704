//! `plugport:plugin/roots`: the client's roots.

pub(crate) mod grant;
