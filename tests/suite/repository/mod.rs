//! Promises about the repository itself: what is committed, that every guest has a test, and that pages of the documentation
//! have the numbers of the code.
//!
//! Nothing here starts a server. That every entry of the hostile corpus is tested is in `hostile`.

mod conventions;
