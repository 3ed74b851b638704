//! Tools.

use super::super::param_headers::ParamHeader;
use super::super::published_name;
use super::super::schema::Schema;
use super::{CommonFields, InvalidItem, all_readable};
use crate::config::Limits;
use crate::json::RawObject;
use crate::plugin::Tool;

/// A tool that may be published.
#[derive(Debug)]
pub(in super::super) struct ValidatedTool {
    pub(in super::super) name: String,
    pub(in super::super) input: Schema,
    pub(in super::super) output: Option<Schema>,
    pub(in super::super) headers: Vec<ParamHeader>,
    pub(in super::super) extra: RawObject,
}

/// Checks one tool, whose schemas may have `patterns_left` patterns.
pub(in super::super) fn validate(
    tool: &Tool,
    prefix: &str,
    limits: &Limits,
    patterns_left: u64,
) -> Result<ValidatedTool, InvalidItem> {
    let name = published_name::public(prefix, &tool.name)?;
    let common = CommonFields {
        name: "",
        title: tool.title.as_deref(),
        description: tool.description.as_deref(),
        extra: tool.extra.as_deref(),
    };
    let extra = common.check()?;
    let output = tool.output_schema.as_deref();
    let output = output.map(|text| Schema::compile(text, limits, patterns_left)).transpose()?;
    let input = Schema::of_arguments(&tool.input_schema, limits, patterns_left)?;
    for schema in [Some(&input), output.as_ref()].into_iter().flatten() {
        all_readable("schema", schema.text().get())?;
    }
    let headers = ParamHeader::all(input.text())?;
    Ok(ValidatedTool { name, input, output, headers, extra })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fixed_limits::PATTERNS;

    fn tool() -> Tool {
        Tool {
            name: "t".to_owned(),
            title: None,
            description: Some("Does it.\nWell.".to_owned()),
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: None,
            annotations: None,
            extra: None,
        }
    }

    fn fault(tool: &Tool) -> String {
        validate(tool, "p", &Limits::default(), PATTERNS).unwrap_err().to_string()
    }

    #[test]
    fn a_plain_tool_passes() {
        assert_eq!(validate(&tool(), "p", &Limits::default(), PATTERNS).unwrap().name, "p-t");
    }

    #[test]
    fn hidden_words_are_rejected_wherever_they_stand() {
        let hidden = "Adds.\u{e0041}\u{200b}".to_owned();
        assert!(fault(&Tool { description: Some(hidden.clone()), ..tool() }).contains("its description has"));
        assert!(fault(&Tool { title: Some(hidden.clone()), ..tool() }).contains("its title has"));
        let schema = format!(r#"{{"type":"object","description":"{hidden}"}}"#);
        assert!(fault(&Tool { input_schema: schema, ..tool() }).contains("its schema has"));
        let schema = r#"{"type":"object","description":"x\u202e\udb40\udc41"}"#.to_owned();
        assert!(fault(&Tool { input_schema: schema, ..tool() }).contains("its schema has"));
        let extra = Some(r#"{"a":{"b\u200b":1}}"#.to_owned());
        assert!(fault(&Tool { extra, ..tool() }).contains("its extra has"));
    }

    #[test]
    fn long_descriptions_and_broken_extras_are_rejected() {
        assert!(
            fault(&Tool { description: Some("x".repeat(5_000)), ..tool() }).contains("longer than 4 KiB")
        );
        assert!(fault(&Tool { extra: Some("[]".to_owned()), ..tool() }).contains("not a JSON object"));
        let schema = r#"{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#;
        assert!(fault(&Tool { input_schema: schema.to_owned(), ..tool() }).contains("x-mcp-header"));
    }
}
