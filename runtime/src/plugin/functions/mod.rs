//! Function tools: each function that a component without MCP exports is a tool.
//!
//! Everything that such a tool needs is in its type, so it is found out once, at load: its schemas, how its arguments
//! are read and its result is written. A call then runs under the same limits as that of any other tool. Types are
//! untrusted data: what they unfold to is bounded before anything is made of them, and a function that has no form in
//! JSON is rejected with a warning, since the others may be what someone relies on.

mod invoke;
mod json_to_val;
mod mismatch;
mod package_docs;
mod scalar;
mod schema;
#[cfg(test)]
mod tests;
mod tool_names;
mod transfer_cost;
mod types;
mod val_to_json;

use std::sync::Arc;

use wasmtime::component::types::{ComponentFunc, ComponentItem};
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

/// Interfaces that hosts call for purposes of their own.
const STANDARD: &str = "wasi:";

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
    /// How many times as much its values take as the engine counts.
    cost_factor: usize,
    tool: Tool,
}

/// What a function gives back.
enum ReturnType {
    Nothing,
    Value(ValType),
    /// A `result` at the top: what is good is the tool's result, what is not is its error.
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
        let most = usize::try_from(limits.tools).unwrap_or(usize::MAX);
        let (exported, excess) = exported(component, most);
        let paths: Vec<ExportPath<'_>> = exported.iter().map(ExportedFunction::path).collect();
        let names = tool_names::names(&paths);
        let (docs, mut schemas, mut budget) =
            (docs.read(), SchemaWriter::new(PATTERNS), TypeBudget::new(limits));
        let (mut functions, mut rejected) = (Vec::new(), Vec::new());
        for (found, name) in exported.iter().zip(names) {
            budget.start_function();
            // What is left out takes nothing from the others.
            let mut tried = schemas.clone();
            match found.make(name, &mut budget, &mut tried, &docs) {
                Ok(function) => {
                    functions.push(function);
                    schemas = tried;
                }
                Err(why) => {
                    budget.roll_back();
                    rejected.push(RejectedFunction { name: found.path().in_words(), why: why.to_string() });
                }
            }
        }
        if excess > 0 {
            let why = format!("a plugin may have {most} tools (limit `tools`)");
            rejected.push(RejectedFunction { name: format!("{excess} more functions"), why });
        }
        Self { functions, rejected }
    }

    /// Whether it has nothing to list.
    pub(super) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// What it lists.
    pub(super) fn tools(&self) -> Vec<Tool> {
        self.functions.iter().map(|function| function.tool.clone()).collect()
    }

    /// What it does not list.
    pub(super) fn rejected(&self) -> &[RejectedFunction] {
        &self.rejected
    }

    fn function(&self, name: &str) -> Option<&FunctionTool> {
        self.functions.iter().find(|function| function.tool.name == name)
    }
}

impl RejectedFunction {
    /// Its name for people, as far as anyone would read it.
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

    /// What is given back when all is well.
    fn value(&self) -> Option<&ValType> {
        match self {
            Self::Nothing => None,
            Self::Value(ty) => Some(ty),
            Self::Fallible(ok, _) => ok.as_ref(),
        }
    }
}

/// The functions of a component and of the interfaces that it exports, but for the standard ones: at most so many, and
/// how many there are beyond these.
fn exported(component: &Component, most: usize) -> (Vec<ExportedFunction>, usize) {
    let (ty, engine) = (component.component_type(), component.engine());
    let (mut found, mut excess) = (Vec::new(), 0);
    let mut add = |interface: Option<&str>, function: &str, ty, index: Option<_>| match index {
        Some(index) if found.len() < most => {
            let (interface, function) = (interface.map(str::to_owned), function.to_owned());
            found.push(ExportedFunction { interface, function, ty, index });
        }
        Some(_) => excess += 1,
        None => {}
    };
    for (name, item) in ty.exports(engine).filter(|(name, _)| !name.starts_with(STANDARD)) {
        let index = component.get_export_index(None, name);
        match item.ty {
            ComponentItem::ComponentFunc(ty) => add(None, name, ty, index),
            ComponentItem::ComponentInstance(instance) => {
                for (function, item) in instance.exports(engine) {
                    let ComponentItem::ComponentFunc(ty) = item.ty else { continue };
                    add(Some(name), function, ty, component.get_export_index(index.as_ref(), function));
                }
            }
            _ => {}
        }
    }
    (found, excess)
}
