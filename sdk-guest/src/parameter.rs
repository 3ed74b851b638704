//! One parameter of a tool, as the macro declares it.
//!
//! The schema and the call both need the parameter's type. They use one constant, whose constructor has all trait
//! bounds and stores the functions. A type that lacks a trait is therefore reported once, and name, description and
//! default are the same in the schema and in the call.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::arguments::{self, Arguments};
use crate::{Error, schema, whole_numbers};

/// What can be a parameter of a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a tool; derive `serde::Deserialize` and `schemars::JsonSchema` for it",
    label = "this type cannot be read from JSON or has no schema",
    note = "the types that it contains need both as well"
)]
pub trait Argument: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> Argument for T {}

/// What can be a default, which the schema shows.
#[diagnostic::on_unimplemented(
    message = "a default of type `{Self}` cannot be shown in the schema; derive `serde::Serialize` for it",
    label = "this type cannot be written as JSON"
)]
pub trait DefaultValue: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> DefaultValue for T {}

/// A type whose default can be a literal text.
#[diagnostic::on_unimplemented(
    message = "a text cannot be the default of `{Self}`; write a value of that type",
    label = "this type is not made from a text"
)]
pub trait TextDefault: From<&'static str> {}

#[diagnostic::do_not_recommend]
impl<T: From<&'static str>> TextDefault for T {}

/// A default that is written as a text, of the parameter's own type.
pub fn text<T: TextDefault>(text: &'static str) -> T {
    T::from(text)
}

/// A keyword of a parameter's schema with its value.
pub(crate) type Limit = (&'static str, Value);

/// A parameter with a name.
pub struct Parameter<T> {
    pub(crate) name: &'static str,
    pub(crate) description: Option<&'static str>,
    pub(crate) schema: fn(&mut SchemaGenerator) -> Schema,
    /// The default for the schema to show, if there is one that JSON can express.
    pub(crate) default: fn() -> Option<Value>,
    /// Keywords of the schema with their values.
    pub(crate) limits: fn() -> Vec<Limit>,
    /// Writes them into the schema. Where there are none, it is not linked.
    pub(crate) write_limits: fn(&mut Schema, &Map<String, Value>, Vec<Limit>),
    read: fn(&str) -> serde_json::Result<T>,
    /// The value of a missing parameter, if it is optional.
    pub(crate) absent: fn() -> Option<T>,
}

impl<T: Argument> Parameter<T> {
    /// A parameter that is required unless its type is optional.
    pub const fn new(name: &'static str, description: Option<&'static str>) -> Self {
        Self {
            name,
            description,
            schema: SchemaGenerator::subschema_for::<T>,
            default: || None,
            limits: Vec::new,
            write_limits: |_, _, _| {},
            read: |text| whole_numbers::read(text).map_err(|(error, _)| error),
            absent: arguments::absent,
        }
    }

    /// The same with a default. `absent` makes the default, and `default` its JSON, as [`shown`] does.
    pub const fn or(self, absent: fn() -> Option<T>, default: fn() -> Option<Value>) -> Self {
        Self { default, absent, ..self }
    }

    /// The same with limits, as keywords of the schema. `minLength` and `maxLength` also mean lists and maps.
    pub const fn limited(self, limits: fn() -> Vec<Limit>) -> Self {
        Self { limits, write_limits: schema::write_limits, ..self }
    }
}

/// A default as the schema shows it.
pub fn shown<T: DefaultValue>(default: T) -> Option<Value> {
    serde_json::to_value(default).ok()
}

impl<T> Parameter<T> {
    /// The value in this call.
    ///
    /// # Errors
    /// `invalid-params` when a required argument is missing, or the argument is of another type.
    pub fn take(&self, arguments: &Arguments<'_>) -> Result<T, Error> {
        let name = self.name;
        match arguments.get(name) {
            Some(text) => (self.read)(text).or_else(|error| match (self.absent)() {
                // A null stands for nothing where an argument may be missing, as the host has it.
                Some(absent) if text == "null" => Ok(absent),
                _ => Err(arguments::unusable(Some(name), &error)),
            }),
            None => (self.absent)()
                .ok_or_else(|| Error::InvalidParams(format!("the argument `{name}` is missing"))),
        }
    }
}

/// A parameter that takes all arguments.
pub struct AllArguments<T> {
    schema: fn() -> Result<String, Error>,
    read: fn(&str) -> Result<T, Error>,
}

impl<T: Argument> AllArguments<T> {
    /// For a type that is an object in JSON.
    #[expect(clippy::new_without_default, reason = "only the macro makes one")]
    pub const fn new() -> Self {
        Self { schema: schema::whole::<T>, read: arguments::whole }
    }
}

impl<T> AllArguments<T> {
    /// The input schema.
    ///
    /// # Errors
    /// When the type is not an object in JSON.
    pub fn schema(&self) -> Result<String, Error> {
        (self.schema)()
    }

    /// The value in this call.
    ///
    /// # Errors
    /// `invalid-params` when the arguments are not of this type.
    pub fn take(&self, text: &str) -> Result<T, Error> {
        (self.read)(text)
    }
}
