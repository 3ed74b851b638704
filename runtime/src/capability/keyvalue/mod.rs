//! `wasi:keyvalue`: what a plugin keeps between calls.

pub(crate) mod grant;
