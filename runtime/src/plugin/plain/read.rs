//! From JSON to the values that a function takes.
//!
//! The catalog has checked the arguments against the schema; this relies on nothing of it. Whatever JSON comes, it ends in
//! values of the function's own types or in one sentence that says where the first fault is, and what is made of a short
//! text is bounded, since every item of a list takes more room as a value than as text.

use serde_json::{Map, Value};
use wasmtime::component::Val;

use super::scalar::{character, float, single, whole};
use super::shape::{Named, Shape};
use crate::observe::{Escaped, brief};

/// Longest name of a stranger's that a fault repeats, bytes.
const NAME: usize = 64;

/// The first fault, and where it is: `$.point.x`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("${path}: {what}")]
pub(super) struct Misfit {
    path: String,
    what: String,
}

impl Misfit {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { path: String::new(), what: what.into() }
    }

    fn expected(wanted: &str, found: &Value) -> Self {
        Self::new(format!("must be {wanted}, and is {}", kind(found)))
    }

    /// The same, seen from one level above.
    fn below(mut self, step: &str) -> Self {
        self.path.insert_str(0, step);
        self
    }
}

/// Makes values that take no more than so much memory together.
pub(super) struct Reader {
    left: usize,
    most_mib: u64,
}

impl Reader {
    pub(super) fn new(most_mib: u64) -> Self {
        Self { left: crate::config::mib(most_mib), most_mib }
    }

    /// The values of all parameters, in their order.
    ///
    /// # Errors
    /// With the first fault.
    pub(super) fn arguments(
        &mut self,
        parameters: &[(String, Shape)],
        value: &Value,
    ) -> Result<Vec<Val>, Misfit> {
        Ok(self.fields(parameters, value)?.into_iter().map(|(_, val)| val).collect())
    }

    /// What the values take that were made.
    pub(super) fn taken(&self) -> usize {
        crate::config::mib(self.most_mib) - self.left
    }

    fn charge(&mut self, bytes: usize) -> Result<(), Misfit> {
        let most = self.most_mib;
        let too_much = || {
            let what = format!(
                "the arguments take more than {most} MiB as values (limit `transfer_mib`); send less"
            );
            Misfit::new(what)
        };
        self.left = self.left.checked_sub(bytes).ok_or_else(too_much)?;
        Ok(())
    }

    pub(super) fn read(&mut self, shape: &Shape, value: &Value) -> Result<Val, Misfit> {
        self.charge(size_of::<Val>())?;
        Ok(match shape {
            Shape::Bool => {
                Val::Bool(value.as_bool().ok_or_else(|| Misfit::expected("true or false", value))?)
            }
            Shape::Integer(integer) => whole(*integer, value)?,
            Shape::F32 => Val::Float32(single(float(value)?)?),
            Shape::F64 => Val::Float64(float(value)?),
            Shape::Char => Val::Char(character(value)?),
            Shape::String => Val::String(self.text(value)?),
            Shape::List(item) => Val::List(self.items(item, value)?),
            Shape::Fixed(item, length) => Val::FixedLengthList(self.exactly(item, *length, value)?),
            Shape::Map(pair) => Val::Map(self.pairs(pair, value)?),
            Shape::Record(fields) => Val::Record(self.fields(fields, value)?),
            Shape::Tuple(shapes) => Val::Tuple(self.tuple(shapes, value)?),
            Shape::Variant(cases) => self.variant(cases, value)?,
            Shape::Enum(names) => Val::Enum(self.one_of(names, value)?),
            Shape::Option(inner) => self.option(inner, value)?,
            Shape::Result(ok, err) => self.result(ok.as_deref(), err.as_deref(), value)?,
            Shape::Flags(names) => Val::Flags(self.flags(names, value)?),
        })
    }

    fn text(&mut self, value: &Value) -> Result<String, Misfit> {
        let text = value.as_str().ok_or_else(|| Misfit::expected("a string", value))?;
        self.charge(text.len())?;
        Ok(text.to_owned())
    }

    fn items(&mut self, item: &Shape, value: &Value) -> Result<Vec<Val>, Misfit> {
        let items = array(value)?.iter().enumerate();
        let read = |(at, value)| self.read(item, value).map_err(|misfit| misfit.below(&format!("[{at}]")));
        items.map(read).collect()
    }

    fn exactly(&mut self, item: &Shape, length: u32, value: &Value) -> Result<Vec<Val>, Misfit> {
        match array(value)?.len() {
            found if u32::try_from(found) == Ok(length) => self.items(item, value),
            found => Err(Misfit::new(format!("must have {length} items, and has {found}"))),
        }
    }

    fn pairs(&mut self, pair: &(Shape, Shape), value: &Value) -> Result<Vec<(Val, Val)>, Misfit> {
        let items = array(value)?.iter().enumerate();
        let mut read = |value: &Value| {
            let [key, value] = array(value)?.as_slice() else {
                return Err(Misfit::new("must be a key and a value in an array"));
            };
            let key = self.read(&pair.0, key).map_err(|misfit| misfit.below("[0]"))?;
            Ok((key, self.read(&pair.1, value).map_err(|misfit| misfit.below("[1]"))?))
        };
        items.map(|(at, value)| read(value).map_err(|misfit| misfit.below(&format!("[{at}]")))).collect()
    }

    fn tuple(&mut self, shapes: &[Shape], value: &Value) -> Result<Vec<Val>, Misfit> {
        let items = array(value)?;
        if items.len() != shapes.len() {
            return Err(Misfit::new(format!("must have {} items, and has {}", shapes.len(), items.len())));
        }
        let pairs = shapes.iter().zip(items).enumerate();
        let read = |(at, (shape, value))| {
            self.read(shape, value).map_err(|misfit: Misfit| misfit.below(&format!("[{at}]")))
        };
        pairs.map(read).collect()
    }

    fn fields(&mut self, fields: &[(String, Shape)], value: &Value) -> Result<Vec<(String, Val)>, Misfit> {
        let object = object(value)?;
        let is_known = |name: &String| fields.iter().any(|(field, _)| field == name);
        // Searched only when something is too much: comparing each with each may take long.
        let known = fields.iter().filter(|(name, _)| object.contains_key(name)).count();
        if known < object.len()
            && let Some(name) = object.keys().take(fields.len() + 1).find(|name| !is_known(name))
        {
            return Err(Misfit::new("is not one of the fields").below(&step(name)));
        }
        let read = |(name, shape): &(String, Shape)| {
            self.charge(size_of::<(String, Val)>() + name.len())?;
            let val = match object.get(name) {
                Some(value) => self.read(shape, value),
                None if shape.is_nullable() => Ok(Val::Option(None)),
                None => Err(Misfit::new("is required and missing")),
            };
            Ok((name.clone(), val.map_err(|misfit| misfit.below(&step(name)))?))
        };
        fields.iter().map(read).collect()
    }

    fn variant(&mut self, cases: &Named<Option<Shape>>, value: &Value) -> Result<Val, Misfit> {
        if let Some(name) = value.as_str() {
            self.charge(name.len())?;
            return match cases.get(name) {
                Some(None) => Ok(Val::Variant(name.to_owned(), None)),
                Some(Some(_)) => {
                    Err(Misfit::new(format!("the case `{name}` needs a value: {{ \"{name}\": ... }}")))
                }
                None => Err(Misfit::new(format!("`{}` is not one of the cases", told(name)))),
            };
        }
        let (name, payload) = only(value, "a case: its name, or an object of one field")?;
        let Some(Some(shape)) = cases.get(name) else {
            return Err(Misfit::new("is not one of the cases that have a value").below(&step(name)));
        };
        self.charge(name.len())?;
        let val = self.read(shape, payload).map_err(|misfit| misfit.below(&step(name)))?;
        Ok(Val::Variant(name.to_owned(), Some(Box::new(val))))
    }

    fn one_of(&mut self, names: &Named<()>, value: &Value) -> Result<String, Misfit> {
        let text = value.as_str().ok_or_else(|| Misfit::expected("a string", value))?;
        self.charge(size_of::<String>() + text.len())?;
        match names.get(text) {
            Some(()) => Ok(text.to_owned()),
            None => Err(Misfit::new(format!("`{}` is not one of the names", told(text)))),
        }
    }

    fn flags(&mut self, names: &Named<()>, value: &Value) -> Result<Vec<String>, Misfit> {
        let given = array(value)?;
        if given.len() > names.len() {
            return Err(Misfit::new(format!("has {} names, and there are {}", given.len(), names.len())));
        }
        let mut flags: Vec<String> = Vec::with_capacity(given.len());
        for (at, value) in given.iter().enumerate() {
            let name = self.one_of(names, value).map_err(|misfit| misfit.below(&format!("[{at}]")))?;
            if flags.contains(&name) {
                return Err(Misfit::new("stands there twice").below(&format!("[{at}]")));
            }
            flags.push(name);
        }
        Ok(flags)
    }

    fn option(&mut self, inner: &Shape, value: &Value) -> Result<Val, Misfit> {
        if value.is_null() {
            return Ok(Val::Option(None));
        }
        let some = if inner.is_nullable() {
            let wanted = "null or an object of the one field `some`";
            match only(value, wanted)? {
                ("some", value) => self.read(inner, value).map_err(|misfit| misfit.below(".some"))?,
                _ => return Err(Misfit::new(format!("must be {wanted}"))),
            }
        } else {
            self.read(inner, value)?
        };
        Ok(Val::Option(Some(Box::new(some))))
    }

    fn result(&mut self, ok: Option<&Shape>, err: Option<&Shape>, value: &Value) -> Result<Val, Misfit> {
        let wanted = "an object of one field, `ok` or `err`";
        let (name, payload) = only(value, wanted)?;
        let shape = match name {
            "ok" => ok,
            "err" => err,
            _ => return Err(Misfit::new(format!("must be {wanted}"))),
        };
        let val = match shape {
            Some(shape) => self.read(shape, payload).map(|val| Some(Box::new(val))),
            None if payload.is_null() => Ok(None),
            None => Err(Misfit::expected("null", payload)),
        };
        let val = val.map_err(|misfit| misfit.below(&step(name)))?;
        Ok(Val::Result(if name == "ok" { Ok(val) } else { Err(val) }))
    }
}

fn array(value: &Value) -> Result<&Vec<Value>, Misfit> {
    value.as_array().ok_or_else(|| Misfit::expected("an array", value))
}

fn object(value: &Value) -> Result<&Map<String, Value>, Misfit> {
    value.as_object().ok_or_else(|| Misfit::expected("an object", value))
}

/// The one field of an object.
fn only<'v>(value: &'v Value, wanted: &str) -> Result<(&'v str, &'v Value), Misfit> {
    let object = value.as_object().ok_or_else(|| Misfit::expected(wanted, value))?;
    let mut fields = object.iter();
    match (fields.next(), fields.next()) {
        (Some((name, value)), None) => Ok((name, value)),
        _ => Err(Misfit::new(format!("must be {wanted}, and has {} fields", object.len()))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn step(name: &str) -> String {
    format!(".{}", told(name))
}

/// A stranger's name, as far as it is repeated.
fn told(name: &str) -> String {
    brief(NAME, format_args!("{}", Escaped(name)))
}
