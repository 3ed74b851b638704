//! `plugport:plugin/sampling`: asks the client's model.

pub(crate) mod grant;
