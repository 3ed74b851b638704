//! The plugins in `plugins/`, called by a client through the server: their results, and what they cannot do.
//!
//! A plugin that only serves to show something about the server belongs to the folder of that subject: `fetch` is in
//! `grants`. Guests made for tests are in `tests/guests`.

mod files;
mod notes;
mod run_js;
mod simple;
