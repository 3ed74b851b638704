//! Writes the result of a function as JSON.
//!
//! The text is written directly, and writing stops at the limit on results, so that a text that is too long is never
//! whole in memory. `json_to_val.rs` reads the same form: a result can be an argument.

use std::fmt::Write as _;

use wasmtime::component::Val;

use super::schema::{RESULT, SAFE};
use super::types::ValType;

/// Why there is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum WriteError {
    /// The text would exceed the limit on results.
    #[error("the result is longer than it may be")]
    TooLong,
    /// A value is not of its type. The engine returns no such value.
    #[error("converting the result: a value is not of its type")]
    Misshapen,
}

/// Writes values, up to a length.
pub(super) struct JsonWriter {
    text: String,
    max: usize,
}

impl JsonWriter {
    /// A value as JSON.
    ///
    /// # Errors
    /// When that takes more than `max` bytes.
    pub(super) fn json(ty: &ValType, val: &Val, max: usize) -> Result<String, WriteError> {
        let mut writer = Self { text: String::new(), max };
        writer.value(ty, val)?;
        Ok(writer.text)
    }

    /// A result as structured content, which is always an object.
    ///
    /// # Errors
    /// As [`JsonWriter::json`].
    pub(super) fn object(ty: &ValType, val: &Val, max: usize) -> Result<String, WriteError> {
        let mut writer = Self { text: String::new(), max };
        match ty {
            ValType::Record(_) => writer.value(ty, val)?,
            _ => writer.single(RESULT, Some(ty), Some(val))?,
        }
        Ok(writer.text)
    }

    fn push(&mut self, text: &str) -> Result<(), WriteError> {
        if self.text.len() + text.len() > self.max {
            return Err(WriteError::TooLong);
        }
        self.text.push_str(text);
        Ok(())
    }

    fn show(&mut self, value: impl std::fmt::Display) -> Result<(), WriteError> {
        // A number or a boolean: a few bytes beyond the limit do no harm, and `push` checks the limit.
        write!(self.text, "{value}").map_err(|_| WriteError::Misshapen)?;
        self.push("")
    }

    fn string(&mut self, text: &str) -> Result<(), WriteError> {
        if text.len() > self.max {
            return Err(WriteError::TooLong);
        }
        let quoted = serde_json::to_string(text).map_err(|_| WriteError::Misshapen)?;
        self.push(&quoted)
    }

    fn value(&mut self, ty: &ValType, val: &Val) -> Result<(), WriteError> {
        match (ty, val) {
            (ValType::Bool, Val::Bool(is)) => self.show(is),
            (ValType::Integer(_), number) => self.whole(number),
            (ValType::F32, Val::Float32(number)) if number.is_finite() => self.number(*number),
            (ValType::F64, Val::Float64(number)) if number.is_finite() => self.number(*number),
            (ValType::F32, Val::Float32(number)) => self.string(not_finite((*number).into())),
            (ValType::F64, Val::Float64(number)) => self.string(not_finite(*number)),
            (ValType::Char, Val::Char(character)) => self.string(character.encode_utf8(&mut [0; 4])),
            (ValType::String, Val::String(text)) | (ValType::Enum(_), Val::Enum(text)) => self.string(text),
            (ValType::List(item), Val::List(vals))
            | (ValType::Fixed(item, _), Val::FixedLengthList(vals)) => {
                self.array(vals, |writer, val| writer.value(item, val))
            }
            (ValType::Map(pair), Val::Map(vals)) => self.array(vals, |writer, val| writer.pair(pair, val)),
            (ValType::Tuple(types), Val::Tuple(vals)) => {
                let pairs: Vec<_> = types.iter().zip(vals).collect();
                self.array(&pairs, |writer, (ty, val)| writer.value(ty, val))
            }
            (ValType::Flags(_), Val::Flags(names)) => self.array(names, |writer, name| writer.string(name)),
            _ => self.nested(ty, val),
        }
    }

    fn nested(&mut self, ty: &ValType, val: &Val) -> Result<(), WriteError> {
        match (ty, val) {
            (ValType::Record(fields), Val::Record(vals)) => self.record(fields, vals),
            (ValType::Variant(cases), Val::Variant(name, payload)) => match (cases.get(name), payload) {
                (Some(None), None) => self.string(name),
                (Some(Some(ty)), Some(val)) => self.single(name, Some(ty), Some(val)),
                _ => Err(WriteError::Misshapen),
            },
            (ValType::Option(_), Val::Option(None)) => self.push("null"),
            (ValType::Option(inner), Val::Option(Some(val))) if inner.is_nullable() => {
                self.single("some", Some(inner), Some(val))
            }
            (ValType::Option(inner), Val::Option(Some(val))) => self.value(inner, val),
            (ValType::Result(ty, _), Val::Result(Ok(val))) => {
                self.single("ok", ty.as_deref(), val.as_deref())
            }
            (ValType::Result(_, ty), Val::Result(Err(val))) => {
                self.single("err", ty.as_deref(), val.as_deref())
            }
            _ => Err(WriteError::Misshapen),
        }
    }

    /// Writes a whole number; as a string beyond [`SAFE`].
    fn whole(&mut self, val: &Val) -> Result<(), WriteError> {
        let number = match val {
            Val::S8(number) => (*number).into(),
            Val::U8(number) => (*number).into(),
            Val::S16(number) => (*number).into(),
            Val::U16(number) => (*number).into(),
            Val::S32(number) => (*number).into(),
            Val::U32(number) => (*number).into(),
            Val::S64(number) => (*number).into(),
            Val::U64(number) => i128::from(*number),
            _ => return Err(WriteError::Misshapen),
        };
        match number.abs() <= SAFE {
            true => self.show(number),
            false => self.string(&number.to_string()),
        }
    }

    fn number(&mut self, number: impl serde::Serialize) -> Result<(), WriteError> {
        self.push(&serde_json::to_string(&number).map_err(|_| WriteError::Misshapen)?)
    }

    fn array<T>(
        &mut self,
        items: &[T],
        write: impl Fn(&mut Self, &T) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        self.push("[")?;
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.push(",")?;
            }
            write(self, item)?;
        }
        self.push("]")
    }

    fn pair(&mut self, pair: &(ValType, ValType), val: &(Val, Val)) -> Result<(), WriteError> {
        self.push("[")?;
        self.value(&pair.0, &val.0)?;
        self.push(",")?;
        self.value(&pair.1, &val.1)?;
        self.push("]")
    }

    fn record(&mut self, fields: &[(String, ValType)], vals: &[(String, Val)]) -> Result<(), WriteError> {
        self.push("{")?;
        for (at, ((name, ty), (_, val))) in fields.iter().zip(vals).enumerate() {
            if at > 0 {
                self.push(",")?;
            }
            self.string(name)?;
            self.push(":")?;
            self.value(ty, val)?;
        }
        self.push("}")
    }

    /// An object of one field.
    fn single(&mut self, name: &str, ty: Option<&ValType>, val: Option<&Val>) -> Result<(), WriteError> {
        self.push("{")?;
        self.string(name)?;
        self.push(":")?;
        match (ty, val) {
            (Some(ty), Some(val)) => self.value(ty, val)?,
            (None, None) => self.push("null")?,
            _ => return Err(WriteError::Misshapen),
        }
        self.push("}")
    }
}

fn not_finite(number: f64) -> &'static str {
    match (number.is_nan(), number > 0.0) {
        (true, _) => "NaN",
        (_, true) => "Infinity",
        _ => "-Infinity",
    }
}
