//! The `params` of a request: one pass finds the fields that several parts of the server read.
//!
//! `_meta` decides how a request is served. A transport may compare `name`, `uri` and `arguments` with its headers.
//! `requestState` and `inputResponses` resume a suspended call. Handlers read most of these fields again. A request
//! outlives its message, so the text is copied once, and fields are stored as ranges of it. A field that only one
//! method has is parsed by its handler. This file does not validate fields.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::error::RpcError;
use super::param_errors;
use crate::json::CowStr;
use crate::sandbox::json_work;

/// The parameters of one request.
#[derive(Debug, Default)]
pub(crate) struct Params {
    text: Option<Box<RawValue>>,
    work: usize,
    meta: FieldRange,
    name: FieldRange,
    uri: FieldRange,
    arguments: FieldRange,
    task: FieldRange,
    request_state: FieldRange,
    input_responses: FieldRange,
}

/// The range of a field's value in the text; `None` if the field is absent.
type FieldRange = Option<Range<usize>>;

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Fields<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "with_null")]
    name: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "with_null")]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    task: Option<&'a RawValue>,
    #[serde(borrow)]
    request_state: Option<&'a RawValue>,
    #[serde(borrow)]
    input_responses: Option<&'a RawValue>,
}

/// Distinguishes null from an absent field, so that a null for a required string is reported as invalid and not as
/// missing.
fn with_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl Params {
    /// Finds the fields of an object; `None` stands for absent parameters.
    ///
    /// # Errors
    /// -32602 when a field occurs twice.
    pub(crate) fn parse(text: Option<Box<RawValue>>) -> Result<Self, RpcError> {
        let Some(text) = text else { return Ok(Self::default()) };
        let json = text.get();
        let fields: Fields<'_> = serde_json::from_str(json).map_err(|error| {
            RpcError::invalid_meta(&param_errors::describe::<Fields<'_>>("params", json, &error))
        })?;
        let range = |field: Option<&RawValue>| {
            let field = field?.get();
            let start = field.as_ptr().addr().checked_sub(json.as_ptr().addr())?;
            Some(start..start + field.len())
        };
        let (meta, name, uri) = (range(fields.meta), range(fields.name), range(fields.uri));
        let (arguments, request_state) = (range(fields.arguments), range(fields.request_state));
        let (task, input_responses) = (range(fields.task), range(fields.input_responses));
        let work = json_work(json.as_bytes());
        Ok(Self { text: Some(text), work, meta, name, uri, arguments, task, request_state, input_responses })
    }

    /// All parameters as the client wrote them; `None` when they are absent.
    pub(crate) fn raw(&self) -> Option<&RawValue> {
        self.text.as_deref()
    }

    /// The parameters as text; absent parameters are an empty object.
    pub(crate) fn text(&self) -> &str {
        self.raw().map_or("{}", RawValue::get)
    }

    /// The length of the text in bytes.
    pub(crate) fn len(&self) -> usize {
        self.raw().map_or(0, |text| text.get().len())
    }

    /// The work of reading the text, for `LargeWork::in_place`.
    pub(crate) fn work(&self) -> usize {
        self.work
    }

    /// The JSON text of `_meta`.
    pub(crate) fn meta(&self) -> Option<&str> {
        self.field(&self.meta)
    }

    /// The JSON text of `arguments`.
    pub(crate) fn arguments(&self) -> Option<&str> {
        self.field(&self.arguments)
    }

    /// Whether the client asks for a task, as in 2025-11-25.
    pub(crate) fn has_task(&self) -> bool {
        self.field(&self.task).is_some_and(|task| task.starts_with('{'))
    }

    /// The JSON text of `inputResponses`.
    pub(crate) fn input_responses(&self) -> Option<&str> {
        self.field(&self.input_responses)
    }

    /// `name`.
    ///
    /// # Errors
    /// -32602 when the field is missing or no string.
    pub(crate) fn name(&self) -> Result<Cow<'_, str>, RpcError> {
        self.required("name", &self.name)
    }

    /// `uri`.
    ///
    /// # Errors
    /// -32602 when the field is missing or no string.
    pub(crate) fn uri(&self) -> Result<Cow<'_, str>, RpcError> {
        self.required("uri", &self.uri)
    }

    /// `taskId`, which only few methods have.
    ///
    /// # Errors
    /// -32602 when the field is missing or no string.
    pub(crate) fn task_id(&self) -> Result<Cow<'_, str>, RpcError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct TaskParams<'a> {
            #[serde(borrow)]
            task_id: CowStr<'a>,
        }
        read::<TaskParams<'_>>(&"params", self.text()).map(|params| params.task_id.0)
    }

    /// `requestState`, if there is one.
    ///
    /// # Errors
    /// -32602 when the field is no string.
    pub(crate) fn request_state(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        self.field(&self.request_state).map(|json| string("requestState", json)).transpose()
    }

    fn required<'p>(&'p self, field: &str, range: &FieldRange) -> Result<Cow<'p, str>, RpcError> {
        let missing = || RpcError::invalid_params(&format!("`params`: missing field `{field}`"));
        string(field, self.field(range).ok_or_else(missing)?)
    }

    fn field(&self, range: &FieldRange) -> Option<&str> {
        self.text().get(range.clone()?)
    }
}

fn string<'p>(field: &str, json: &'p str) -> Result<Cow<'p, str>, RpcError> {
    read(&format_args!("params.{field}"), json).map(|CowStr(text)| text)
}

/// Parses `json`, the value at `path` in the message.
///
/// # Errors
/// -32602, which names the invalid field.
pub(crate) fn read<'p, T: Deserialize<'p>>(
    path: &impl std::fmt::Display,
    json: &'p str,
) -> Result<T, RpcError> {
    serde_json::from_str(json).map_err(|error| {
        RpcError::invalid_params(&param_errors::describe::<T>(&path.to_string(), json, &error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    impl From<&str> for Params {
        fn from(text: &str) -> Self {
            Self::parse(Some(RawValue::from_string(text.to_owned()).unwrap())).unwrap()
        }
    }

    #[test]
    fn each_field_is_found_where_it_is() {
        let params = Params::from(
            r#"{ "arguments" : {"name":"x"} ,"name":"\u0061b", "uri":"n:a","requestState":"s",
                "inputResponses":{"k":1},"_meta":{"v":[1]}}"#,
        );
        assert_eq!((params.name().unwrap(), params.uri().unwrap()), ("ab".into(), "n:a".into()));
        assert_eq!(params.arguments(), Some(r#"{"name":"x"}"#));
        assert_eq!(params.request_state().unwrap().as_deref(), Some("s"));
        assert_eq!((params.input_responses(), params.meta()), (Some(r#"{"k":1}"#), Some(r#"{"v":[1]}"#)));
        let none = Params::default();
        assert_eq!((none.text(), none.len(), none.meta()), ("{}", 0, None));
    }

    #[test]
    fn what_is_missing_or_no_string_is_named() {
        for (text, expected) in [
            ("{}", "`params`: missing field `name`"),
            (r#"{"name":5}"#, "`params.name`: invalid type: integer `5`, expected a string"),
            (r#"{"name":null}"#, "`params.name`: invalid type: null, expected a string"),
        ] {
            let error = Params::from(text).name().unwrap_err();
            assert!(error.code == -32602 && error.message.ends_with(expected), "{}", error.message);
        }
        let nulls =
            Params::from(r#"{"arguments":null,"requestState":null,"inputResponses":null,"_meta":null}"#);
        assert_eq!((nulls.arguments(), nulls.input_responses(), nulls.meta()), (None, None, None));
        assert_eq!(nulls.request_state(), Ok(None));
    }

    #[test]
    fn a_field_that_is_there_twice_is_an_error() {
        let twice = RawValue::from_string(r#"{"name":"a","name":"b"}"#.to_owned()).unwrap();
        let error = Params::parse(Some(twice)).unwrap_err();
        assert!(
            error.code == -32602 && error.message.contains("duplicate field `name`"),
            "{}",
            error.message
        );
    }
}
