//! Which of the optional interfaces a component exports, found out once.
//!
//! Each interface is optional, so nothing forces the whole world on a guest: absent is `None`, present but of another
//! shape is an error at load and never at call.

use wasmtime::component::InstancePre;

use crate::bindings::exports::plugport::plugin::{completions, prompts, resources, tools};
use crate::capability::InstanceCtx;

use super::function_tools::FunctionTools;
use super::interface_names::Interfaces;

/// Interfaces that make a component a plugin: it exports at least one of them.
pub(super) const FEATURES: [&str; 3] = ["tools", "resources", "prompts"];

/// The interfaces of one component, by index, so that a call looks up no names.
pub(super) struct Exports {
    pub(super) tools: Option<tools::GuestIndices>,
    pub(super) resources: Option<resources::GuestIndices>,
    pub(super) prompts: Option<prompts::GuestIndices>,
    pub(super) completions: Option<completions::GuestIndices>,
    /// Functions of its own, if it has none of the above.
    pub(super) functions: Option<FunctionTools>,
}

impl Exports {
    /// Looks the interfaces up.
    ///
    /// # Errors
    /// When an interface is there but lacks a function.
    pub(super) fn find(pre: &InstancePre<InstanceCtx>, interfaces: &Interfaces) -> wasmtime::Result<Self> {
        let exports_interface = |interface: &str| interfaces.exports_interface(interface);
        Ok(Self {
            tools: exports_interface("tools").then(|| tools::GuestIndices::new(pre)).transpose()?,
            resources: exports_interface("resources")
                .then(|| resources::GuestIndices::new(pre))
                .transpose()?,
            prompts: exports_interface("prompts").then(|| prompts::GuestIndices::new(pre)).transpose()?,
            completions: exports_interface("completions")
                .then(|| completions::GuestIndices::new(pre))
                .transpose()?,
            functions: None,
        })
    }

    /// Those of a component that has functions of its own.
    pub(super) fn of(functions: FunctionTools) -> Self {
        Self { tools: None, resources: None, prompts: None, completions: None, functions: Some(functions) }
    }
}
