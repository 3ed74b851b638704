//! Reads the arguments of a function from JSON.
//!
//! The catalog has validated the arguments, but this module does not rely on it. It turns any JSON into values of the
//! function's own types, or into one sentence with the path of the first fault. The memory of the values is bounded,
//! since an item of a list takes more memory as a value than as text.

use serde_json::{Map, Value};
use wasmtime::component::Val;

use super::scalar::{character, float, single, whole};
use super::type_mismatch::Mismatch;
use super::types::{NameMap, ValType};
use crate::observe::{Escaped, truncate};

/// Longest name that a fault repeats, bytes.
const NAME: usize = 64;

/// Makes values of at most `max_mib` of memory together.
pub(super) struct ValReader {
    remaining: usize,
    max_mib: u64,
}

impl ValReader {
    pub(super) fn new(max_mib: u64) -> Self {
        Self { remaining: crate::config::mib(max_mib), max_mib }
    }

    /// The values of all parameters, in their order.
    ///
    /// # Errors
    /// With the first fault.
    pub(super) fn arguments(
        &mut self,
        parameters: &[(String, ValType)],
        value: &Value,
    ) -> Result<Vec<Val>, Mismatch> {
        Ok(self.fields(parameters, value)?.into_iter().map(|(_, val)| val).collect())
    }

    /// Memory of the values made so far, bytes.
    pub(super) fn used(&self) -> usize {
        crate::config::mib(self.max_mib) - self.remaining
    }

    fn charge(&mut self, bytes: usize) -> Result<(), Mismatch> {
        let max = self.max_mib;
        let too_much = || {
            let what =
                format!("the arguments take more than {max} MiB as values (limit `transfer_mib`); send less");
            Mismatch::new(what)
        };
        self.remaining = self.remaining.checked_sub(bytes).ok_or_else(too_much)?;
        Ok(())
    }

    pub(super) fn read(&mut self, ty: &ValType, value: &Value) -> Result<Val, Mismatch> {
        self.charge(size_of::<Val>())?;
        Ok(match ty {
            ValType::Bool => {
                Val::Bool(value.as_bool().ok_or_else(|| Mismatch::expected("true or false", value))?)
            }
            ValType::Integer(integer) => whole(*integer, value)?,
            ValType::F32 => Val::Float32(single(float(value)?)?),
            ValType::F64 => Val::Float64(float(value)?),
            ValType::Char => Val::Char(character(value)?),
            ValType::String => Val::String(self.text(value)?),
            ValType::List(item) => Val::List(self.items(item, value)?),
            ValType::Fixed(item, length) => Val::FixedLengthList(self.exactly(item, *length, value)?),
            ValType::Map(pair) => Val::Map(self.pairs(pair, value)?),
            ValType::Record(fields) => Val::Record(self.fields(fields, value)?),
            ValType::Tuple(types) => Val::Tuple(self.tuple(types, value)?),
            ValType::Variant(cases) => self.variant(cases, value)?,
            ValType::Enum(names) => Val::Enum(self.one_of(names, value)?),
            ValType::Option(inner) => self.option(inner, value)?,
            ValType::Result(ok, err) => self.result(ok.as_deref(), err.as_deref(), value)?,
            ValType::Flags(names) => Val::Flags(self.flags(names, value)?),
        })
    }

    fn text(&mut self, value: &Value) -> Result<String, Mismatch> {
        let text = value.as_str().ok_or_else(|| Mismatch::expected("a string", value))?;
        self.charge(text.len())?;
        Ok(text.to_owned())
    }

    fn items(&mut self, item: &ValType, value: &Value) -> Result<Vec<Val>, Mismatch> {
        let items = array(value)?.iter().enumerate();
        let read =
            |(at, value)| self.read(item, value).map_err(|mismatch| mismatch.below(&format!("[{at}]")));
        items.map(read).collect()
    }

    fn exactly(&mut self, item: &ValType, length: u32, value: &Value) -> Result<Vec<Val>, Mismatch> {
        match array(value)?.len() {
            count if u32::try_from(count) == Ok(length) => self.items(item, value),
            count => Err(Mismatch::new(format!("must have {length} items, and has {count}"))),
        }
    }

    fn pairs(&mut self, pair: &(ValType, ValType), value: &Value) -> Result<Vec<(Val, Val)>, Mismatch> {
        let items = array(value)?.iter().enumerate();
        let mut read = |value: &Value| {
            let [key, value] = array(value)?.as_slice() else {
                return Err(Mismatch::new("must be a key and a value in an array"));
            };
            let key = self.read(&pair.0, key).map_err(|mismatch| mismatch.below("[0]"))?;
            Ok((key, self.read(&pair.1, value).map_err(|mismatch| mismatch.below("[1]"))?))
        };
        items.map(|(at, value)| read(value).map_err(|mismatch| mismatch.below(&format!("[{at}]")))).collect()
    }

    fn tuple(&mut self, types: &[ValType], value: &Value) -> Result<Vec<Val>, Mismatch> {
        let items = array(value)?;
        if items.len() != types.len() {
            return Err(Mismatch::new(format!("must have {} items, and has {}", types.len(), items.len())));
        }
        let pairs = types.iter().zip(items).enumerate();
        let read = |(at, (ty, value))| {
            self.read(ty, value).map_err(|mismatch: Mismatch| mismatch.below(&format!("[{at}]")))
        };
        pairs.map(read).collect()
    }

    fn fields(
        &mut self,
        fields: &[(String, ValType)],
        value: &Value,
    ) -> Result<Vec<(String, Val)>, Mismatch> {
        let object = object(value)?;
        let is_known = |name: &String| fields.iter().any(|(field, _)| field == name);
        // Unknown fields are searched only when there are some: comparing each with each may take long.
        let known = fields.iter().filter(|(name, _)| object.contains_key(name)).count();
        if known < object.len()
            && let Some(name) = object.keys().take(fields.len() + 1).find(|name| !is_known(name))
        {
            return Err(Mismatch::new("is not one of the fields").below(&step(name)));
        }
        let read = |(name, ty): &(String, ValType)| {
            self.charge(size_of::<(String, Val)>() + name.len())?;
            let val = match object.get(name) {
                Some(value) => self.read(ty, value),
                None if ty.is_nullable() => Ok(Val::Option(None)),
                None => Err(Mismatch::new("is required and missing")),
            };
            Ok((name.clone(), val.map_err(|mismatch| mismatch.below(&step(name)))?))
        };
        fields.iter().map(read).collect()
    }

    fn variant(&mut self, cases: &NameMap<Option<ValType>>, value: &Value) -> Result<Val, Mismatch> {
        if let Some(name) = value.as_str() {
            self.charge(name.len())?;
            return match cases.get(name) {
                Some(None) => Ok(Val::Variant(name.to_owned(), None)),
                Some(Some(_)) => {
                    Err(Mismatch::new(format!("the case `{name}` needs a value: {{ \"{name}\": ... }}")))
                }
                None => Err(Mismatch::new(format!("`{}` is not one of the cases", shown(name)))),
            };
        }
        let (name, payload) = only(value, "a case: its name, or an object of one field")?;
        let Some(Some(ty)) = cases.get(name) else {
            return Err(Mismatch::new("is not one of the cases that have a value").below(&step(name)));
        };
        self.charge(name.len())?;
        let val = self.read(ty, payload).map_err(|mismatch| mismatch.below(&step(name)))?;
        Ok(Val::Variant(name.to_owned(), Some(Box::new(val))))
    }

    fn one_of(&mut self, names: &NameMap<()>, value: &Value) -> Result<String, Mismatch> {
        let text = value.as_str().ok_or_else(|| Mismatch::expected("a string", value))?;
        self.charge(size_of::<String>() + text.len())?;
        match names.get(text) {
            Some(()) => Ok(text.to_owned()),
            None => Err(Mismatch::new(format!("`{}` is not one of the names", shown(text)))),
        }
    }

    fn flags(&mut self, names: &NameMap<()>, value: &Value) -> Result<Vec<String>, Mismatch> {
        let items = array(value)?;
        if items.len() > names.len() {
            return Err(Mismatch::new(format!("has {} names, and there are {}", items.len(), names.len())));
        }
        let mut flags: Vec<String> = Vec::with_capacity(items.len());
        for (at, value) in items.iter().enumerate() {
            let name = self.one_of(names, value).map_err(|mismatch| mismatch.below(&format!("[{at}]")))?;
            if flags.contains(&name) {
                return Err(Mismatch::new("stands there twice").below(&format!("[{at}]")));
            }
            flags.push(name);
        }
        Ok(flags)
    }

    fn option(&mut self, inner: &ValType, value: &Value) -> Result<Val, Mismatch> {
        if value.is_null() {
            return Ok(Val::Option(None));
        }
        let some = if inner.is_nullable() {
            let expected = "null or an object of the one field `some`";
            match only(value, expected)? {
                ("some", value) => self.read(inner, value).map_err(|mismatch| mismatch.below(".some"))?,
                _ => return Err(Mismatch::new(format!("must be {expected}"))),
            }
        } else {
            self.read(inner, value)?
        };
        Ok(Val::Option(Some(Box::new(some))))
    }

    fn result(
        &mut self,
        ok: Option<&ValType>,
        err: Option<&ValType>,
        value: &Value,
    ) -> Result<Val, Mismatch> {
        let expected = "an object of one field, `ok` or `err`";
        let (name, payload) = only(value, expected)?;
        let ty = match name {
            "ok" => ok,
            "err" => err,
            _ => return Err(Mismatch::new(format!("must be {expected}"))),
        };
        let val = match ty {
            Some(ty) => self.read(ty, payload).map(|val| Some(Box::new(val))),
            None if payload.is_null() => Ok(None),
            None => Err(Mismatch::expected("null", payload)),
        };
        let val = val.map_err(|mismatch| mismatch.below(&step(name)))?;
        Ok(Val::Result(if name == "ok" { Ok(val) } else { Err(val) }))
    }
}

fn array(value: &Value) -> Result<&Vec<Value>, Mismatch> {
    value.as_array().ok_or_else(|| Mismatch::expected("an array", value))
}

fn object(value: &Value) -> Result<&Map<String, Value>, Mismatch> {
    value.as_object().ok_or_else(|| Mismatch::expected("an object", value))
}

/// The one field of an object.
fn only<'v>(value: &'v Value, expected: &str) -> Result<(&'v str, &'v Value), Mismatch> {
    let object = value.as_object().ok_or_else(|| Mismatch::expected(expected, value))?;
    let mut fields = object.iter();
    match (fields.next(), fields.next()) {
        (Some((name, value)), None) => Ok((name, value)),
        _ => Err(Mismatch::new(format!("must be {expected}, and has {} fields", object.len()))),
    }
}

fn step(name: &str) -> String {
    format!(".{}", shown(name))
}

/// An untrusted name for a message, escaped and cut.
fn shown(name: &str) -> String {
    truncate(NAME, format_args!("{}", Escaped(name)))
}
