//! `wasi:filesystem`: directories of the host.

pub(crate) mod grant;
pub(crate) mod policy;
