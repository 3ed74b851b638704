//! The type of a parameter or a result, as a tree.
//!
//! A component's types are untrusted data: they nest, and a type that is used twice is unfolded twice, so a hundred
//! bytes can describe more than any memory has. So types are unfolded once, at load and within a budget. The code that
//! writes schemas and converts values then reads a tree of known size and does not depend on the engine.

use std::collections::HashMap;
use std::sync::Arc;

use wasmtime::component::types::{Case, Field};
use wasmtime::component::{Type, Val};

use super::super::Tool;
use crate::config::fixed_limits::SCHEMA_DEPTH;
use crate::config::{Limits, kib, mib};
use crate::json;

/// The types of values that JSON can carry. Handles and streams are not among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ValType {
    Bool,
    Integer(IntType),
    F32,
    F64,
    Char,
    String,
    List(Box<Self>),
    /// A list of this length.
    Fixed(Box<Self>, u32),
    /// Keys and values.
    Map(Box<(Self, Self)>),
    Record(Vec<(String, Self)>),
    Tuple(Vec<Self>),
    Variant(NameMap<Option<Self>>),
    Enum(NameMap<()>),
    Option(Box<Self>),
    Result(Option<Box<Self>>, Option<Box<Self>>),
    Flags(NameMap<()>),
}

/// Names in their order, with an index: the component decides how many there are and how often one is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameMap<T> {
    items: Vec<(Arc<str>, T)>,
    by_name: HashMap<Arc<str>, usize>,
}

impl<T> NameMap<T> {
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        self.by_name.get(name).and_then(|at| self.items.get(*at)).map(|(_, item)| item)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.items.iter().map(|(name, item)| (&**name, item))
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }
}

impl<T> FromIterator<(String, T)> for NameMap<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(items: I) -> Self {
        let items: Vec<(Arc<str>, T)> = items.into_iter().map(|(name, item)| (name.into(), item)).collect();
        let by_name = items.iter().enumerate().map(|(at, (name, _))| (Arc::clone(name), at)).collect();
        Self { items, by_name }
    }
}

/// A whole number of some width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntType {
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
}

/// Why a function cannot be a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RejectReason {
    /// A parameter or the result has a type that JSON cannot carry.
    #[error("its type has {0}, which JSON cannot carry")]
    NotInJson(&'static str),
    /// It may suspend itself, for which the engine would have to run several calls in one instance.
    #[error("it is asynchronous, and tools are called as ordinary functions")]
    Asynchronous,
    /// Beyond [`SCHEMA_DEPTH`].
    #[error("its types need a JSON Schema nested deeper than {SCHEMA_DEPTH} levels")]
    TooDeep,
    /// Beyond `schema_kib`.
    #[error("its types need a JSON Schema longer than {0} KiB (limit `schema_kib`)")]
    TooLong(u64),
    /// Beyond `transfer_mib`, together with the functions before it.
    #[error(
        "the types of all functions together are larger than {0} MiB (limit `transfer_mib`); raise it, or split the \
         component"
    )]
    TooLarge(u64),
}

/// Least length of a type in a JSON Schema, bytes.
const NODE: usize = 16;

/// Memory of a name besides its bytes while the plugin is loaded, bytes: in the list and in the index.
const NAME: usize = 128;

/// How much the types of one component may still unfold to. For one function it counts bytes of JSON Schema, and never
/// more than are written, so that no function is rejected whose schema the catalog would accept. For all functions
/// together it also counts the written schemas and the memory of the types.
#[derive(Debug)]
pub(super) struct TypeBudget {
    limits: Limits,
    function: usize,
    component: usize,
    /// The value of `component` before the present function.
    before: usize,
}

impl TypeBudget {
    pub(super) fn new(limits: &Limits) -> Self {
        let component = mib(limits.transfer_mib);
        Self { limits: limits.clone(), function: 0, component, before: component }
    }

    /// Starts the budget of one more function.
    pub(super) fn start_function(&mut self) {
        self.function = kib(self.limits.schema_kib).saturating_mul(2);
        self.before = self.component;
    }

    /// Gives back what a rejected function used.
    pub(super) fn roll_back(&mut self) {
        self.component = self.before;
    }

    /// Counts the schemas of a function, which stay in memory as long as the plugin.
    pub(super) fn commit(&mut self, tool: &Tool) -> Result<(), RejectReason> {
        let output = tool.output_schema.as_ref().map_or(0, String::len);
        if tool.input_schema.len().max(output) > kib(self.limits.schema_kib) {
            return Err(RejectReason::TooLong(self.limits.schema_kib));
        }
        // A schema is nested deeper than its type, and the catalog counts the schema.
        if nesting(&tool.input_schema).max(tool.output_schema.as_deref().map_or(0, nesting)) > SCHEMA_DEPTH {
            return Err(RejectReason::TooDeep);
        }
        self.spend_component(tool.input_schema.len() + output)
    }

    fn spend(&mut self, bytes: usize) -> Result<(), RejectReason> {
        let too_long = RejectReason::TooLong(self.limits.schema_kib);
        self.function = self.function.checked_sub(bytes).ok_or(too_long)?;
        self.spend_component(bytes)
    }

    fn spend_component(&mut self, bytes: usize) -> Result<(), RejectReason> {
        let too_large = RejectReason::TooLarge(self.limits.transfer_mib);
        self.component = self.component.checked_sub(bytes).ok_or(too_large)?;
        Ok(())
    }

    fn enter(&mut self, depth: u64) -> Result<(), RejectReason> {
        if depth >= SCHEMA_DEPTH {
            return Err(RejectReason::TooDeep);
        }
        self.spend(NODE)?;
        self.spend_component(size_of::<ValType>())
    }

    pub(super) fn name(&mut self, name: &str) -> Result<String, RejectReason> {
        self.spend(name.len())?;
        self.spend_component(NAME)?;
        Ok(name.to_owned())
    }

    fn names<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Result<NameMap<()>, RejectReason> {
        names.map(|name| Ok((self.name(name)?, ()))).collect()
    }
}

/// How deep a schema is nested. A schema that is too deep to be parsed is deeper than every limit.
fn nesting(schema: &str) -> u64 {
    serde_json::from_str(schema).map_or(u64::MAX, |value| json::depth(&value) as u64)
}

impl ValType {
    /// Unfolds a type.
    ///
    /// # Errors
    /// When it has a type that JSON cannot carry, or exceeds the budget.
    pub(super) fn of(ty: &Type, budget: &mut TypeBudget) -> Result<Self, RejectReason> {
        Self::at(ty, budget, 0)
    }

    fn at(ty: &Type, budget: &mut TypeBudget, depth: u64) -> Result<Self, RejectReason> {
        budget.enter(depth)?;
        if let Some(simple) = Self::simple(ty) {
            return Ok(simple);
        }
        let mut inner = |ty: &Type| Self::at(ty, budget, depth + 1);
        Ok(match ty {
            Type::List(list) => Self::List(Box::new(inner(&list.ty())?)),
            Type::FixedLengthList(list) => Self::Fixed(Box::new(inner(&list.ty())?), list.len()),
            Type::Map(map) => Self::Map(Box::new((inner(&map.key())?, inner(&map.value())?))),
            Type::Tuple(tuple) => Self::Tuple(tuple.types().map(|ty| inner(&ty)).collect::<Result<_, _>>()?),
            Type::Option(option) => Self::Option(Box::new(inner(&option.ty())?)),
            Type::Result(result) => {
                let mut part = |ty: Option<Type>| ty.map(|ty| inner(&ty).map(Box::new)).transpose();
                Self::Result(part(result.ok())?, part(result.err())?)
            }
            named => return Self::named(named, budget, depth),
        })
    }

    fn simple(ty: &Type) -> Option<Self> {
        Some(match ty {
            Type::Bool => Self::Bool,
            Type::S8 => Self::Integer(IntType::S8),
            Type::U8 => Self::Integer(IntType::U8),
            Type::S16 => Self::Integer(IntType::S16),
            Type::U16 => Self::Integer(IntType::U16),
            Type::S32 => Self::Integer(IntType::S32),
            Type::U32 => Self::Integer(IntType::U32),
            Type::S64 => Self::Integer(IntType::S64),
            Type::U64 => Self::Integer(IntType::U64),
            Type::Float32 => Self::F32,
            Type::Float64 => Self::F64,
            Type::Char => Self::Char,
            Type::String => Self::String,
            _ => return None,
        })
    }

    /// Types whose parts have names, and types that JSON cannot carry.
    fn named(ty: &Type, budget: &mut TypeBudget, depth: u64) -> Result<Self, RejectReason> {
        Ok(match ty {
            Type::Record(record) => {
                let field = |field: Field<'_>| {
                    Ok((budget.name(field.name)?, Self::at(&field.ty, budget, depth + 1)?))
                };
                Self::Record(record.fields().map(field).collect::<Result<_, RejectReason>>()?)
            }
            Type::Variant(variant) => {
                let case = |case: Case<'_>| {
                    let payload = case.ty.map(|ty| Self::at(&ty, budget, depth + 1)).transpose()?;
                    Ok((budget.name(case.name)?, payload))
                };
                Self::Variant(variant.cases().map(case).collect::<Result<_, RejectReason>>()?)
            }
            Type::Enum(cases) => Self::Enum(budget.names(cases.names())?),
            Type::Flags(flags) => Self::Flags(budget.names(flags.names())?),
            other => return Err(RejectReason::NotInJson(not_in_json(other))),
        })
    }

    /// Whether `null` is a value of it, so that an option of it needs another form.
    pub(super) fn is_nullable(&self) -> bool {
        matches!(self, Self::Option(_))
    }
}

fn not_in_json(ty: &Type) -> &'static str {
    match ty {
        Type::Own(_) | Type::Borrow(_) => "a handle of a resource",
        Type::Future(_) => "a future",
        Type::Stream(_) => "a stream",
        Type::ErrorContext => "an error context",
        _ => "something",
    }
}

impl IntType {
    /// The least and the largest.
    pub(super) fn range(self) -> (i128, i128) {
        match self {
            Self::S8 => (i8::MIN.into(), i8::MAX.into()),
            Self::U8 => (0, u8::MAX.into()),
            Self::S16 => (i16::MIN.into(), i16::MAX.into()),
            Self::U16 => (0, u16::MAX.into()),
            Self::S32 => (i32::MIN.into(), i32::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
            Self::S64 => (i64::MIN.into(), i64::MAX.into()),
            Self::U64 => (0, u64::MAX.into()),
        }
    }

    /// Whether it has numbers that a double cannot represent exactly, which are strings in JSON.
    pub(super) fn is_wide(self) -> bool {
        matches!(self, Self::S64 | Self::U64)
    }

    /// A number of this width, if it is one.
    pub(super) fn val(self, number: i128) -> Option<Val> {
        match self {
            Self::S8 => number.try_into().map(Val::S8).ok(),
            Self::U8 => number.try_into().map(Val::U8).ok(),
            Self::S16 => number.try_into().map(Val::S16).ok(),
            Self::U16 => number.try_into().map(Val::U16).ok(),
            Self::S32 => number.try_into().map(Val::S32).ok(),
            Self::U32 => number.try_into().map(Val::U32).ok(),
            Self::S64 => number.try_into().map(Val::S64).ok(),
            Self::U64 => number.try_into().map(Val::U64).ok(),
        }
    }
}
