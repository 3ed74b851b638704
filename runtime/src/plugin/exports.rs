//! Which of the optional interfaces a component exports, found out once.
//!
//! Each interface is optional, so nothing forces the whole world on a guest: absent is `None`, present but of another
//! shape is an error at load and never at call.

use wasmtime::component::InstancePre;

use crate::bindings::exports::plugport::plugin::tools;
use crate::host::State;

use super::surface::Surface;

/// The interfaces of one component, by index, so that a call looks up no names.
pub(super) struct Exports {
    pub(super) tools: Option<tools::GuestIndices>,
}

impl Exports {
    /// Looks the interfaces up.
    ///
    /// # Errors
    /// When an interface is there but lacks a function.
    pub(super) fn find(pre: &InstancePre<State>, surface: &Surface) -> wasmtime::Result<Self> {
        let tools = surface.offers("tools").then(|| tools::GuestIndices::new(pre)).transpose()?;
        Ok(Self { tools })
    }
}
