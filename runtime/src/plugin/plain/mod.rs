//! Components that know nothing of MCP: each function that one exports is a tool.
//!
//! Everything that such a tool needs is in its type, so it is found out once, at load: its schemas, how its arguments are
//! read and its result is written. A call then runs under the same walls as that of any other tool. Types are a stranger's
//! data: what they unfold to is bounded before anything is made of them, and a function that has no form in JSON is left
//! out and told of, since the others may be what someone relies on.

mod call;
mod cost;
mod docs;
mod names;
mod read;
mod scalar;
mod schema;
mod shape;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;

use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex};

use super::Tool;
use crate::config::Limits;
use crate::observe::{Escaped, brief};
pub(super) use call::CallFunction;
pub(super) use docs::Docs;
use docs::Words;
use names::Place;
use schema::Schemas;
use shape::{Room, Shape, Unfit};
pub(super) use write::Unwritten;

/// Interfaces that hosts call for purposes of their own.
const STANDARD: &str = "wasi:";

/// Longest name of a stranger's that is shown, bytes.
const NAME: usize = 64;

/// The functions of a component as tools.
pub(super) struct Plain {
    functions: Vec<Function>,
    left_out: Vec<LeftOut>,
}

/// A function that no tool can be made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// `interface#function`, or the function alone.
    pub name: String,
    /// Why.
    pub why: String,
}

/// A function and what it is as a tool.
struct Function {
    index: ComponentExportIndex,
    parameters: Arc<[(String, Shape)]>,
    answer: Arc<Answer>,
    /// How many times as much its values take as the engine counts.
    dear: usize,
    tool: Tool,
}

/// What a function gives back.
enum Answer {
    Nothing,
    Value(Shape),
    /// A `result` at the top: what is good is the tool's result, what is not is its error.
    Fallible(Option<Shape>, Option<Shape>),
}

/// An exported function as the component has it.
struct Exported {
    interface: Option<String>,
    function: String,
    ty: ComponentFunc,
    index: ComponentExportIndex,
}

impl Plain {
    /// Finds the functions of a component, at most as many as a plugin may have tools.
    pub(super) fn find(component: &Component, docs: &Docs, limits: &Limits) -> Self {
        let most = usize::try_from(limits.tools).unwrap_or(usize::MAX);
        let (exported, excess) = exported(component, most);
        let places: Vec<Place<'_>> = exported.iter().map(Exported::place).collect();
        let names = names::names(&places);
        let (words, mut schemas, mut room) = (docs.read(), Schemas::new(limits.patterns), Room::new(limits));
        let (mut functions, mut left_out) = (Vec::new(), Vec::new());
        for (found, name) in exported.iter().zip(names) {
            room.begin();
            // What is left out takes nothing from the others.
            let mut tried = schemas.clone();
            match found.make(name, &mut room, &mut tried, (&words, limits)) {
                Ok(function) => {
                    functions.push(function);
                    schemas = tried;
                }
                Err(why) => {
                    room.forget();
                    left_out.push(LeftOut { name: found.place().in_words(), why: why.to_string() });
                }
            }
        }
        if excess > 0 {
            let why = format!("a plugin may have {most} (limit `tools`)");
            left_out.push(LeftOut { name: format!("{excess} more functions"), why });
        }
        Self { functions, left_out }
    }

    /// Whether it has nothing to offer.
    pub(super) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// What it offers.
    pub(super) fn tools(&self) -> Vec<Tool> {
        self.functions.iter().map(|function| function.tool.clone()).collect()
    }

    /// What it does not offer.
    pub(super) fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.tool.name == name)
    }
}

impl LeftOut {
    /// Its name for people, as far as anyone would read it.
    #[must_use]
    pub fn shown(&self) -> String {
        brief(NAME, format_args!("{}", Escaped(&self.name)))
    }
}

impl Exported {
    fn place(&self) -> Place<'_> {
        Place { interface: self.interface.as_deref(), function: &self.function }
    }

    fn make(
        &self,
        name: String,
        room: &mut Room,
        schemas: &mut Schemas,
        said: (&Words, &Limits),
    ) -> Result<Function, Unfit> {
        let (parameters, answer) = self.unfold(room)?;
        let tool = self.tool(name, (&parameters, &answer), schemas, said);
        room.keep(&tool)?;
        let dear = answer.dear();
        let (parameters, answer) = (parameters.into(), Arc::new(answer));
        Ok(Function { index: self.index, parameters, answer, dear, tool })
    }

    fn unfold(&self, room: &mut Room) -> Result<(Vec<(String, Shape)>, Answer), Unfit> {
        if self.function.starts_with('[') {
            return Err(Unfit::Uncarried("a resource that it belongs to"));
        }
        if self.ty.async_() {
            return Err(Unfit::Asynchronous);
        }
        let parameters = self.ty.params().map(|(name, ty)| Ok((room.name(name)?, Shape::of(&ty, room)?)));
        let parameters = parameters.collect::<Result<_, Unfit>>()?;
        let result = self.ty.results().next().map(|ty| Shape::of(&ty, room)).transpose()?;
        Ok((parameters, Answer::of(result)))
    }

    fn tool(
        &self,
        name: String,
        (parameters, answer): (&[(String, Shape)], &Answer),
        schemas: &mut Schemas,
        (words, limits): (&Words, &Limits),
    ) -> Tool {
        Tool {
            name,
            title: None,
            description: words.of(self.interface.as_deref(), &self.function, limits),
            input_schema: schemas.arguments(parameters),
            output_schema: answer.value().map(|shape| schemas.answer(shape)),
            annotations: None,
            extra: None,
        }
    }
}

impl Answer {
    fn of(result: Option<Shape>) -> Self {
        match result {
            None => Self::Nothing,
            Some(Shape::Result(ok, err)) => Self::Fallible(ok.map(|ok| *ok), err.map(|err| *err)),
            Some(shape) => Self::Value(shape),
        }
    }

    /// What is given back when all is well.
    fn value(&self) -> Option<&Shape> {
        match self {
            Self::Nothing => None,
            Self::Value(shape) => Some(shape),
            Self::Fallible(ok, _) => ok.as_ref(),
        }
    }
}

/// The functions of a component and of the interfaces that it exports, but for the standard ones: at most so many, and how many
/// there are beyond these.
fn exported(component: &Component, most: usize) -> (Vec<Exported>, usize) {
    let (ty, engine) = (component.component_type(), component.engine());
    let (mut found, mut excess) = (Vec::new(), 0);
    let mut add = |interface: Option<&str>, function: &str, ty, index: Option<_>| match index {
        Some(index) if found.len() < most => {
            let (interface, function) = (interface.map(str::to_owned), function.to_owned());
            found.push(Exported { interface, function, ty, index });
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
