//! One file per promise. Each opens with the promise; `TARGET` names it.

pub(crate) mod arguments;
pub(crate) mod configuration;
pub(crate) mod cursors;
pub(crate) mod descriptors;
pub(crate) mod dpop_proof;
mod expansion;
pub(crate) mod framing;
pub(crate) mod grants;
pub(crate) mod request_state;
pub(crate) mod roots;
pub(crate) mod shipped_files;
pub(crate) mod token;
pub(crate) mod trace_context;
pub(crate) mod urls;
