//! Properties of the repository: the committed files, a test for every guest, and pages of the documentation with the
//! numbers of the code.
//!
//! Nothing here starts a server. That every entry of the hostile corpus is tested is in `hostile`.

mod conventions;
