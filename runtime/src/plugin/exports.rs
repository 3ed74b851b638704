//! Which of the optional interfaces a component exports, found out once.
//!
//! Each interface is optional, so nothing forces the whole world on a guest: absent is `None`, present but of another
//! shape is an error at load and never at call: the first listing, which is part of the load, checks the types of all
//! functions. The engine checks them in each store anew, so a call lets it check the one function that it calls and not
//! the whole interface.

use wasmtime::Store;
use wasmtime::component::{
    ComponentExportIndex, ComponentNamedList, Instance, InstancePre, Lift, Lower, TypedFunc,
};

use crate::bindings::exports::plugport::plugin::{completions, prompts, resources, tools};
use crate::capability::InstanceCtx;

use super::function_tools::FunctionTools;
use super::interface_names::{Interfaces, WIT_VERSION};

/// Interfaces that make a component a plugin: it exports at least one of them.
pub(super) const FEATURES: [&str; 3] = ["tools", "resources", "prompts"];

/// The interfaces of one component, by index, so that a call looks up no names.
pub(super) struct Exports {
    pub(super) tools: Option<ExportedInterface<tools::GuestIndices>>,
    pub(super) resources: Option<ExportedInterface<resources::GuestIndices>>,
    pub(super) prompts: Option<ExportedInterface<prompts::GuestIndices>>,
    pub(super) completions: Option<ExportedInterface<completions::GuestIndices>>,
    /// Functions of its own, if it has none of the above.
    pub(super) functions: Option<FunctionTools>,
    /// Whether its guest chooses when a call becomes a task.
    pub(super) detaches: bool,
}

/// One interface.
pub(super) struct ExportedInterface<I> {
    /// All its functions: listings call some of them, and check the types of all.
    pub(super) indices: I,
    /// The function for calls of clients, such as `call-tool`.
    function: ComponentExportIndex,
}

impl Exports {
    /// Looks the interfaces up.
    ///
    /// # Errors
    /// When an interface is there but lacks a function.
    pub(super) fn find(pre: &InstancePre<InstanceCtx>, interfaces: &Interfaces) -> wasmtime::Result<Self> {
        let lookup = ExportLookup { pre, interfaces };
        Ok(Self {
            tools: lookup.interface("tools", "call-tool", tools::GuestIndices::new)?,
            resources: lookup.interface("resources", "read-resource", resources::GuestIndices::new)?,
            prompts: lookup.interface("prompts", "get-prompt", prompts::GuestIndices::new)?,
            completions: lookup.interface("completions", "complete", completions::GuestIndices::new)?,
            functions: None,
            detaches: interfaces.imports_interface("tasks"),
        })
    }

    /// Those of a component that has functions of its own.
    pub(super) fn of(functions: FunctionTools) -> Self {
        let functions = Some(functions);
        Self { tools: None, resources: None, prompts: None, completions: None, functions, detaches: false }
    }
}

/// Looks up what a component exports.
struct ExportLookup<'c> {
    pre: &'c InstancePre<InstanceCtx>,
    interfaces: &'c Interfaces,
}

impl ExportLookup<'_> {
    /// An interface and its function for calls of clients; `None` if the component lacks the interface.
    fn interface<I>(
        &self,
        interface: &str,
        function: &str,
        indices: impl FnOnce(&InstancePre<InstanceCtx>) -> wasmtime::Result<I>,
    ) -> wasmtime::Result<Option<ExportedInterface<I>>> {
        if !self.interfaces.exports_interface(interface) {
            return Ok(None);
        }
        // The indices come first: their error says which function is missing.
        let indices = indices(self.pre)?;
        let component = self.pre.component();
        let interface =
            component.get_export_index(None, format!("plugport:plugin/{interface}@{WIT_VERSION}"));
        let function = interface.and_then(|interface| component.get_export_index(Some(&interface), function));
        let function =
            function.ok_or_else(|| wasmtime::format_err!("an exported interface lacks its function"))?;
        Ok(Some(ExportedInterface { indices, function }))
    }
}

impl<I> ExportedInterface<I> {
    /// The function for calls of clients, of one instance.
    ///
    /// # Errors
    /// When it has another type.
    pub(super) fn typed_func<P, R>(
        &self,
        store: &mut Store<InstanceCtx>,
        instance: &Instance,
    ) -> wasmtime::Result<TypedFunc<P, R>>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        instance.get_typed_func(store, self.function)
    }
}
