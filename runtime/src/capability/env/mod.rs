//! `wasi:cli/environment`: variables.

pub(crate) mod grant;
