//! `wasi:http`: requests to hosts.

pub(crate) mod grant;
