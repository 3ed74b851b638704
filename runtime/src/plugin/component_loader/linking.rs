//! Links the imports of a component and finds its exports, or says what it is instead of a plugin.

use wasmtime::component::{Component, InstancePre, Linker};

use super::super::exports::FEATURES;
use super::super::function_tools::{DocsSection, FunctionTools};
use super::super::interface_names::{IncompatibleInterface, instead_of};
use super::super::other_host::OtherHost;
use super::super::{Exports, Interfaces, LoadError};
use crate::capability::InstanceCtx;
use crate::config::Limits;
use crate::observe::{Escaped, truncate};
use crate::sandbox::CompileError;

/// Longest name of an import that an error shows, bytes.
const MAX_IMPORT: usize = 100;

/// Reads the interfaces of a component, links its imports, and finds its exports.
pub(super) fn link(
    linker: &Linker<InstanceCtx>,
    component: &Component,
    docs: &DocsSection,
    limits: &Limits,
) -> Result<(Interfaces, InstancePre<InstanceCtx>, Exports), LoadError> {
    let interfaces = Interfaces::of(component, component.engine());
    if let Some(IncompatibleInterface { version, interface, way }) = interfaces.incompatible() {
        let (version, interface) = (version.to_owned(), interface.to_owned());
        return Err(LoadError::OtherVersion { version, interface, way });
    }
    let is_feature = FEATURES.iter().any(|interface| interfaces.exports_interface(interface));
    let functions = (!is_feature).then(|| functions(component, &interfaces, docs, limits)).transpose()?;
    let pre = linker.instantiate_pre(component).map_err(|error| unlinkable(error, &interfaces))?;
    let exports = match functions {
        Some(functions) => Exports::of(functions),
        None => Exports::find(&pre, &interfaces).map_err(|error| LoadError::Unlinkable(error.into()))?,
    };
    Ok((interfaces, pre, exports))
}

/// The functions of a component that exports no interface of `plugport:plugin`.
fn functions(
    component: &Component,
    interfaces: &Interfaces,
    docs: &DocsSection,
    limits: &Limits,
) -> Result<FunctionTools, LoadError> {
    let other = || LoadError::OtherWorld { exports: listed(&interfaces.exports), kind: interfaces.kind() };
    if interfaces.exports_plugport() {
        return Err(other());
    }
    let functions = FunctionTools::find(component, docs, limits);
    match (functions.is_empty(), functions.rejected()) {
        (false, _) => Ok(functions),
        (true, []) => Err(other()),
        (true, rejected) => {
            let reasons: Vec<String> =
                rejected.iter().map(|function| format!("{} ({})", function.shown(), function.why)).collect();
            Err(LoadError::NoTools(listed(&reasons)))
        }
    }
}

/// The error about a component that cannot be a plugin, which says what it was made for if that is known.
pub(super) fn for_other_host(error: LoadError, other_host: Option<&OtherHost>) -> LoadError {
    let concerns_interfaces = matches!(
        error,
        LoadError::Compile(CompileError::Async(_))
            | LoadError::OtherWorld { .. }
            | LoadError::NoTools(_)
            | LoadError::MissingImport { .. }
            | LoadError::Unlinkable(_)
    );
    match other_host {
        Some(host) if concerns_interfaces => LoadError::OtherHost(host.clone()),
        _ => error,
    }
}

/// The error for a component that the linker rejected.
fn unlinkable(error: wasmtime::Error, interfaces: &Interfaces) -> LoadError {
    let message = error.to_string();
    let missing = interfaces.import_in(&message).and_then(|import| Some((import, instead_of(import)?)));
    match missing {
        Some((import, here)) => {
            let import = truncate(MAX_IMPORT, format_args!("{}", Escaped(import)));
            LoadError::MissingImport { import, here }
        }
        None => LoadError::Unlinkable(error.into()),
    }
}

/// At most three names, since a component may export thousands.
fn listed(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        few if few.len() <= 3 => few.join(", "),
        [first, second, third, rest @ ..] => format!("{first}, {second}, {third} and {} more", rest.len()),
        few => few.join(", "),
    }
}

#[cfg(test)]
mod tests;
