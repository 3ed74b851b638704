//! `wasi:config`: settings and secrets.

pub(crate) mod grant;
