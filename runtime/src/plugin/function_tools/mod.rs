//! Function tools: each function that a component without `plugport:plugin` exports is a tool.
//!
//! The type of a function is all that such a tool needs, so the schemas and the conversion of arguments and result are
//! made once, at load. A call runs under the same limits as that of any other tool. Types are untrusted data: their
//! size is bounded before anything is made of them. A function whose types have no form in JSON is rejected by itself
//! with a warning, since clients may rely on the others.

mod invoke;
mod json_to_val;
mod package_docs;
mod scalar;
mod schema;
#[cfg(test)]
mod tests;
mod tool_names;
mod transfer_cost;
mod type_mismatch;
mod types;
mod val_to_json;

use std::sync::Arc;

use wasmtime::Engine;
use wasmtime::component::types::{ComponentFunc, ComponentInstance, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex};

use super::Tool;
use crate::config::Limits;
use crate::config::fixed_limits::PATTERNS;
use crate::observe::{Escaped, truncate};
pub(super) use invoke::CallFunction;
pub(super) use package_docs::DocsSection;
use package_docs::PackageDocs;
use schema::SchemaWriter;
use tool_names::ExportPath;
use types::{RejectReason, TypeBudget, ValType};
pub(super) use val_to_json::WriteError;

/// Prefix of the names of standard interfaces. Hosts call these for purposes of their own, so their functions are no
/// tools.
const STANDARD: &str = "wasi:";

/// What componentize-py leaves in a component: an interface that it calls once while it builds. The interface, its only
/// function, and that function's first parameter.
const COMPONENTIZE_PY: [&str; 3] = ["exports", "init", "app-name"];

/// Longest name from a component that is shown, bytes.
const NAME: usize = 64;

/// The functions of a component as tools.
pub(super) struct FunctionTools {
    functions: Vec<FunctionTool>,
    rejected: Vec<RejectedFunction>,
}

/// A function that no tool can be made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedFunction {
    /// `interface#function`, or the function alone.
    pub name: String,
    /// Why.
    pub why: String,
}

/// A function and what it is as a tool.
struct FunctionTool {
    index: ComponentExportIndex,
    parameters: Arc<[(String, ValType)]>,
    returns: Arc<ReturnType>,
    /// How many times as much memory its values take as the engine counts.
    cost_factor: usize,
    tool: Tool,
}

/// What a function returns.
enum ReturnType {
    Nothing,
    Value(ValType),
    /// A `result` at the top: `ok` is the tool's result, `err` is its error.
    Fallible(Option<ValType>, Option<ValType>),
}

/// An exported function as the component has it.
struct ExportedFunction {
    interface: Option<String>,
    function: String,
    ty: ComponentFunc,
    index: ComponentExportIndex,
}

impl FunctionTools {
    /// Finds the functions of a component, at most as many as a plugin may have tools.
    pub(super) fn find(component: &Component, docs: &DocsSection, limits: &Limits) -> Self {
        let max = usize::try_from(limits.tools).unwrap_or(usize::MAX);
        let (exported, excess) = exported(component, max);
        let paths: Vec<ExportPath<'_>> = exported.iter().map(ExportedFunction::path).collect();
        let names = tool_names::names(&paths);
        let (docs, mut schemas, mut budget) =
            (docs.read(), SchemaWriter::new(PATTERNS), TypeBudget::new(limits));
        let (mut functions, mut rejected) = (Vec::new(), Vec::new());
        for (function, name) in exported.iter().zip(names) {
            budget.start_function();
            // A rejected function uses up none of the patterns of the others.
            let mut tried = schemas.clone();
            match function.make(name, &mut budget, &mut tried, &docs) {
                Ok(tool) => {
                    functions.push(tool);
                    schemas = tried;
                }
                Err(why) => {
                    budget.roll_back();
                    rejected
                        .push(RejectedFunction { name: function.path().in_words(), why: why.to_string() });
                }
            }
        }
        if excess > 0 {
            let why = format!("a plugin may have {max} tools (limit `tools`)");
            rejected.push(RejectedFunction { name: format!("{excess} more functions"), why });
        }
        Self { functions, rejected }
    }

    /// Whether there are no tools.
    pub(super) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The tools.
    pub(super) fn tools(&self) -> Vec<Tool> {
        self.functions.iter().map(|function| function.tool.clone()).collect()
    }

    /// The functions that are no tools.
    pub(super) fn rejected(&self) -> &[RejectedFunction] {
        &self.rejected
    }

    fn function(&self, name: &str) -> Option<&FunctionTool> {
        self.functions.iter().find(|function| function.tool.name == name)
    }
}

impl RejectedFunction {
    /// Its name for messages, escaped and cut.
    #[must_use]
    pub fn shown(&self) -> String {
        truncate(NAME, format_args!("{}", Escaped(&self.name)))
    }
}

impl ExportedFunction {
    fn path(&self) -> ExportPath<'_> {
        ExportPath { interface: self.interface.as_deref(), function: &self.function }
    }

    fn make(
        &self,
        name: String,
        budget: &mut TypeBudget,
        schemas: &mut SchemaWriter,
        docs: &PackageDocs,
    ) -> Result<FunctionTool, RejectReason> {
        let (parameters, returns) = self.unfold(budget)?;
        let tool = self.tool(name, (&parameters, &returns), schemas, docs);
        budget.commit(&tool)?;
        let cost_factor = returns.cost_factor();
        let (parameters, returns) = (parameters.into(), Arc::new(returns));
        Ok(FunctionTool { index: self.index, parameters, returns, cost_factor, tool })
    }

    fn unfold(&self, budget: &mut TypeBudget) -> Result<(Vec<(String, ValType)>, ReturnType), RejectReason> {
        if self.function.starts_with('[') {
            return Err(RejectReason::NotInJson("a resource that it belongs to"));
        }
        if self.ty.async_() {
            return Err(RejectReason::Asynchronous);
        }
        let parameters =
            self.ty.params().map(|(name, ty)| Ok((budget.name(name)?, ValType::of(&ty, budget)?)));
        let parameters = parameters.collect::<Result<_, RejectReason>>()?;
        let result = self.ty.results().next().map(|ty| ValType::of(&ty, budget)).transpose()?;
        Ok((parameters, ReturnType::of(result)))
    }

    fn tool(
        &self,
        name: String,
        (parameters, returns): (&[(String, ValType)], &ReturnType),
        schemas: &mut SchemaWriter,
        docs: &PackageDocs,
    ) -> Tool {
        Tool {
            name,
            title: None,
            description: docs.function(self.interface.as_deref(), &self.function),
            input_schema: schemas.arguments(parameters),
            output_schema: returns.value().map(|ty| schemas.output(ty)),
            annotations: None,
            extra: None,
        }
    }
}

impl ReturnType {
    fn of(result: Option<ValType>) -> Self {
        match result {
            None => Self::Nothing,
            Some(ValType::Result(ok, err)) => Self::Fallible(ok.map(|ok| *ok), err.map(|err| *err)),
            Some(ty) => Self::Value(ty),
        }
    }

    /// The type of the result of a call that succeeds.
    fn value(&self) -> Option<&ValType> {
        match self {
            Self::Nothing => None,
            Self::Value(ty) => Some(ty),
            Self::Fallible(ok, _) => ok.as_ref(),
        }
    }
}

/// The first `max` functions of a component and of its exported interfaces, without the standard ones, and the number
/// of further functions.
fn exported(component: &Component, max: usize) -> (Vec<ExportedFunction>, usize) {
    let (ty, engine) = (component.component_type(), component.engine());
    let (mut functions, mut excess) = (Vec::new(), 0);
    let mut add = |interface: Option<&str>, function: &str, ty, index: Option<_>| match index {
        Some(index) if functions.len() < max => {
            let (interface, function) = (interface.map(str::to_owned), function.to_owned());
            functions.push(ExportedFunction { interface, function, ty, index });
        }
        Some(_) => excess += 1,
        None => {}
    };
    for (name, item) in ty.exports(engine).filter(|(name, _)| !name.starts_with(STANDARD)) {
        let index = component.get_export_index(None, name);
        match item.ty {
            ComponentItem::ComponentFunc(ty) => add(None, name, ty, index),
            ComponentItem::ComponentInstance(instance) if !is_of_componentize_py(name, &instance, engine) => {
                for (function, item) in instance.exports(engine) {
                    let ComponentItem::ComponentFunc(ty) = item.ty else { continue };
                    add(Some(name), function, ty, component.get_export_index(index.as_ref(), function));
                }
            }
            _ => {}
        }
    }
    (functions, excess)
}

/// Whether this exported interface is componentize-py's own, which is of no use once the component is built.
fn is_of_componentize_py(name: &str, instance: &ComponentInstance, engine: &Engine) -> bool {
    let [interface, init, parameter] = COMPONENTIZE_PY;
    if name != interface {
        return false;
    }
    let mut functions = instance.exports(engine).filter_map(|(name, item)| match item.ty {
        ComponentItem::ComponentFunc(ty) => Some((name, ty)),
        _ => None,
    });
    let (Some((function, ty)), None) = (functions.next(), functions.next()) else { return false };
    let first = ty.params().next();
    function == init && first.is_some_and(|(name, _)| name == parameter)
}
