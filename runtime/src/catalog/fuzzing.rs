//! Validation for the fuzz targets in `tests/fuzz`: the validated items as clients would get them. Hidden, and always
//! compiled: with a feature of its own the package would be built twice for the tests.

use std::time::Duration;

use serde_json::Value;

use super::items::{PublishedResource, PublishedTemplate};
use super::param_headers::ParamHeader;
use super::schema::Schema;
use super::uri_template::UriTemplate;
use super::validation;
use crate::config::fixed_limits::PATTERNS;
use crate::config::{Limits, UiGrant};
use crate::json::RawObject;
use crate::plugin::{Prompt, ResourceDescriptor, ResourceTemplate, Tool};
use crate::sandbox::WorkBudget;

/// A tool that passed.
#[derive(Debug)]
pub struct ValidTool {
    /// Its public name.
    pub name: String,
    /// Schema of its arguments.
    pub input: Schema,
    /// Schema of its structured content.
    pub output: Option<Schema>,
    /// Arguments that a client repeats in headers.
    pub headers: Vec<ParamHeader>,
    /// Further fields.
    pub extra: RawObject,
}

/// Validates a tool.
///
/// # Errors
/// With the reason for the operator.
pub fn tool(tool: &Tool, prefix: &str, limits: &Limits) -> Result<ValidTool, String> {
    let passed = validation::tool(tool, prefix, limits, PATTERNS).map_err(|error| error.to_string())?;
    let validation::ValidatedTool { name, input, output, headers, extra } = passed;
    Ok(ValidTool { name, input, output, headers, extra })
}

/// Validates a value that was `bytes` long as text, for at most a second of processor time. Whether it fits.
pub fn fits(schema: &Schema, value: &Value, bytes: usize) -> bool {
    let work_budget = WorkBudget::of(Duration::from_secs(1));
    schema.validate(value, bytes, &work_budget).is_ok_and(|checked| checked.is_ok())
}

/// Validates a prompt; its public name and further fields.
///
/// # Errors
/// With the reason for the operator.
pub fn prompt(prompt: &Prompt, prefix: &str) -> Result<(String, RawObject), String> {
    validation::prompt(prompt, prefix).map_err(|error| error.to_string())
}

/// Validates a resource; its further fields.
///
/// # Errors
/// With the reason for the operator.
pub fn resource(resource: &ResourceDescriptor) -> Result<RawObject, String> {
    PublishedResource::check(resource, &UiGrant::default()).map_err(|error| error.to_string())
}

/// Reads the frontmatter of a skill.
///
/// # Errors
/// With the reason for the operator.
pub fn frontmatter(text: &str) -> Result<serde_json::Map<String, Value>, String> {
    super::shipped::frontmatter(text)
}

/// Validates a resource template.
///
/// # Errors
/// With the reason for the operator.
pub fn template(template: &ResourceTemplate) -> Result<(Matcher, RawObject), String> {
    let passed =
        PublishedTemplate::check(template, &UiGrant::default()).map_err(|error| error.to_string())?;
    Ok((Matcher(passed.0), passed.1))
}

/// A template that passed.
#[derive(Debug)]
pub struct Matcher(UriTemplate);

impl Matcher {
    /// Whether the template expands to this URI.
    #[must_use]
    pub fn matches(&self, uri: &str) -> bool {
        self.0.match_uri(uri).is_some()
    }
}
