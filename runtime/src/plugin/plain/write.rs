//! From the values that a function answers to JSON.
//!
//! It is written as text at once and stops where the limit on results is passed, so that nothing that is too large is ever
//! whole in memory. The form is the one that `read.rs` takes: what a tool gives can be given back to it.

use std::fmt::Write as _;

use wasmtime::component::Val;

use super::schema::{RESULT, SAFE};
use super::shape::Shape;

/// Why there is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum Unwritten {
    /// It would be longer than the limit on results.
    #[error("the result is longer than it may be")]
    TooLong,
    /// A value of another type. The engine gives none.
    #[error("converting the result: a value is not of its type")]
    Misshapen,
}

/// Writes values, up to a length.
pub(super) struct Writer {
    text: String,
    most: usize,
}

impl Writer {
    /// A value as JSON.
    ///
    /// # Errors
    /// When that takes more than `most` bytes.
    pub(super) fn json(shape: &Shape, val: &Val, most: usize) -> Result<String, Unwritten> {
        let mut writer = Self { text: String::new(), most };
        writer.value(shape, val)?;
        Ok(writer.text)
    }

    /// A result as structured content: an object, whatever it is.
    ///
    /// # Errors
    /// As [`Writer::json`].
    pub(super) fn object(shape: &Shape, val: &Val, most: usize) -> Result<String, Unwritten> {
        let mut writer = Self { text: String::new(), most };
        match shape {
            Shape::Record(_) => writer.value(shape, val)?,
            _ => writer.single(RESULT, Some(shape), Some(val))?,
        }
        Ok(writer.text)
    }

    fn push(&mut self, text: &str) -> Result<(), Unwritten> {
        if self.text.len() + text.len() > self.most {
            return Err(Unwritten::TooLong);
        }
        self.text.push_str(text);
        Ok(())
    }

    fn show(&mut self, value: impl std::fmt::Display) -> Result<(), Unwritten> {
        // A number: a few bytes more than the limit do no harm, and the next push finds out.
        write!(self.text, "{value}").map_err(|_| Unwritten::Misshapen)?;
        self.push("")
    }

    fn string(&mut self, text: &str) -> Result<(), Unwritten> {
        if text.len() > self.most {
            return Err(Unwritten::TooLong);
        }
        let quoted = serde_json::to_string(text).map_err(|_| Unwritten::Misshapen)?;
        self.push(&quoted)
    }

    fn value(&mut self, shape: &Shape, val: &Val) -> Result<(), Unwritten> {
        match (shape, val) {
            (Shape::Bool, Val::Bool(is)) => self.show(is),
            (Shape::Integer(_), number) => self.whole(number),
            (Shape::F32, Val::Float32(number)) if number.is_finite() => self.number(*number),
            (Shape::F64, Val::Float64(number)) if number.is_finite() => self.number(*number),
            (Shape::F32, Val::Float32(number)) => self.string(not_finite((*number).into())),
            (Shape::F64, Val::Float64(number)) => self.string(not_finite(*number)),
            (Shape::Char, Val::Char(character)) => self.string(character.encode_utf8(&mut [0; 4])),
            (Shape::String, Val::String(text)) | (Shape::Enum(_), Val::Enum(text)) => self.string(text),
            (Shape::List(item), Val::List(vals)) | (Shape::Fixed(item, _), Val::FixedLengthList(vals)) => {
                self.array(vals, |writer, val| writer.value(item, val))
            }
            (Shape::Map(pair), Val::Map(vals)) => self.array(vals, |writer, val| writer.pair(pair, val)),
            (Shape::Tuple(shapes), Val::Tuple(vals)) => {
                let pairs: Vec<_> = shapes.iter().zip(vals).collect();
                self.array(&pairs, |writer, (shape, val)| writer.value(shape, val))
            }
            (Shape::Flags(_), Val::Flags(names)) => self.array(names, |writer, name| writer.string(name)),
            _ => self.nested(shape, val),
        }
    }

    fn nested(&mut self, shape: &Shape, val: &Val) -> Result<(), Unwritten> {
        match (shape, val) {
            (Shape::Record(fields), Val::Record(vals)) => self.record(fields, vals),
            (Shape::Variant(cases), Val::Variant(name, payload)) => match (cases.get(name), payload) {
                (Some(None), None) => self.string(name),
                (Some(Some(shape)), Some(val)) => self.single(name, Some(shape), Some(val)),
                _ => Err(Unwritten::Misshapen),
            },
            (Shape::Option(_), Val::Option(None)) => self.push("null"),
            (Shape::Option(inner), Val::Option(Some(val))) if inner.is_nullable() => {
                self.single("some", Some(inner), Some(val))
            }
            (Shape::Option(inner), Val::Option(Some(val))) => self.value(inner, val),
            (Shape::Result(shape, _), Val::Result(Ok(val))) => {
                self.single("ok", shape.as_deref(), val.as_deref())
            }
            (Shape::Result(_, shape), Val::Result(Err(val))) => {
                self.single("err", shape.as_deref(), val.as_deref())
            }
            _ => Err(Unwritten::Misshapen),
        }
    }

    /// What no double holds exactly is text.
    fn whole(&mut self, val: &Val) -> Result<(), Unwritten> {
        let number = match val {
            Val::S8(number) => (*number).into(),
            Val::U8(number) => (*number).into(),
            Val::S16(number) => (*number).into(),
            Val::U16(number) => (*number).into(),
            Val::S32(number) => (*number).into(),
            Val::U32(number) => (*number).into(),
            Val::S64(number) => (*number).into(),
            Val::U64(number) => i128::from(*number),
            _ => return Err(Unwritten::Misshapen),
        };
        match number.abs() <= SAFE {
            true => self.show(number),
            false => self.string(&number.to_string()),
        }
    }

    fn number(&mut self, number: impl serde::Serialize) -> Result<(), Unwritten> {
        self.push(&serde_json::to_string(&number).map_err(|_| Unwritten::Misshapen)?)
    }

    fn array<T>(
        &mut self,
        items: &[T],
        write: impl Fn(&mut Self, &T) -> Result<(), Unwritten>,
    ) -> Result<(), Unwritten> {
        self.push("[")?;
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.push(",")?;
            }
            write(self, item)?;
        }
        self.push("]")
    }

    fn pair(&mut self, pair: &(Shape, Shape), val: &(Val, Val)) -> Result<(), Unwritten> {
        self.push("[")?;
        self.value(&pair.0, &val.0)?;
        self.push(",")?;
        self.value(&pair.1, &val.1)?;
        self.push("]")
    }

    fn record(&mut self, fields: &[(String, Shape)], vals: &[(String, Val)]) -> Result<(), Unwritten> {
        self.push("{")?;
        for (at, ((name, shape), (_, val))) in fields.iter().zip(vals).enumerate() {
            if at > 0 {
                self.push(",")?;
            }
            self.string(name)?;
            self.push(":")?;
            self.value(shape, val)?;
        }
        self.push("}")
    }

    /// An object of one field.
    fn single(&mut self, name: &str, shape: Option<&Shape>, val: Option<&Val>) -> Result<(), Unwritten> {
        self.push("{")?;
        self.string(name)?;
        self.push(":")?;
        match (shape, val) {
            (Some(shape), Some(val)) => self.value(shape, val)?,
            (None, None) => self.push("null")?,
            _ => return Err(Unwritten::Misshapen),
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
