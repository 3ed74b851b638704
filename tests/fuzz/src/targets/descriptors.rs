//! Validation of any listing ends. An accepted item keeps every bound of docs/limits.md, has only names and URIs that
//! clients accept, and no string with hidden characters, in any spelling. A template matches the URIs that it makes,
//! and validating a value against an accepted schema ends too.

use std::sync::LazyLock;

use plugport::catalog::Schema;
use plugport::catalog::fuzzing::{self, ValidTool};
use plugport::config::fixed_limits::{self, URI_BYTES};
use plugport::config::{Limits, kib};
use plugport::json::RawObject;
use plugport::plugin::{Annotations, Prompt, PromptArgument, ResourceDescriptor, ResourceTemplate, Tool};
use serde_json::Value;

use super::expansion::expand;
use crate::Target;
use crate::reference::{assert_readable, depth, is_json, strings};
use crate::split_input::Fields;

pub(crate) const TARGET: Target = Target {
    name: "descriptors",
    check,
    words: &[
        "\x1f",
        "{\"type\":\"object\"",
        "\"type\":",
        "\"properties\":{",
        "\"patternProperties\":{",
        "\"required\":[",
        "\"$ref\":\"#\"",
        "\"$ref\":\"#/$defs/a\"",
        "\"$defs\":{\"a\":",
        "\"$id\":",
        "\"$anchor\":\"a\"",
        "\"$dynamicRef\":",
        "\"$dynamicAnchor\":",
        "\"$schema\":",
        "\"allOf\":[",
        "\"anyOf\":[",
        "\"oneOf\":[",
        "\"not\":",
        "\"if\":",
        "\"then\":",
        "\"items\":",
        "\"prefixItems\":[",
        "\"contains\":",
        "\"pattern\":",
        "\"format\":",
        "\"enum\":[",
        "\"const\":",
        "\"minLength\":",
        "\"maximum\":",
        "\"multipleOf\":",
        "\"additionalProperties\":",
        "\"unevaluatedProperties\":",
        "\"propertyNames\":",
        "\"dependentSchemas\":{",
        "\"uniqueItems\":true",
        "\"x-mcp-header\":\"A\"",
        "\"description\":",
        "\"string\"",
        "\"integer\"",
        "\"boolean\"",
        "\"array\"",
        "\"number\"",
        "\"null\"",
        "\"plugport:step\":",
        "\"_meta\":{}",
        "\"icons\":[{\"src\":\"\"}]",
        "\"size\":",
        "\"execution\":{\"taskSupport\":\"optional\"}",
        "a:",
        "://",
        "{x}",
        "{+x}",
        "{#x}",
        "{/x*}",
        "{;x,y}",
        "{?x*}",
        "{&x:3}",
        "{.x}",
        "%20",
        "\u{200b}",
        "\u{202e}",
        "\u{e0041}",
        "\u{3164}",
        "\\u200b",
        "\\ud83d\\ude00",
        "\\udb40\\udc41",
        "[[[[[[[[",
        "text/plain",
    ],
};

/// A small one, so that short inputs reach it.
static LIMITS: LazyLock<Limits> = LazyLock::new(|| {
    let mut limits = Limits::default();
    limits.set("schema_kib", 1).unwrap();
    limits
});

/// A letter for the kind of item, and its texts.
fn check(input: &[u8]) {
    let Some((kind, rest)) = input.split_first() else { return };
    let mut fields = Fields::new(rest);
    match kind {
        b't' => tool(&mut fields),
        b'p' => prompt(&mut fields),
        b'r' => resource(&mut fields),
        b'u' => template(&mut fields),
        _ => {}
    }
}

fn tool(fields: &mut Fields) {
    let (prefix, name) = (fields.text(), fields.text());
    let tool = Tool {
        name,
        input_schema: fields.text(),
        title: fields.maybe(),
        description: fields.maybe(),
        output_schema: fields.maybe().filter(|schema| !schema.is_empty()),
        annotations: None,
        extra: fields.maybe(),
    };
    let Ok(ValidTool { name, input, output, headers, extra }) = fuzzing::tool(&tool, &prefix, &LIMITS) else {
        return;
    };
    assert_name(&name, &prefix, &tool.name);
    assert_described("", tool.title.as_deref(), tool.description.as_deref());
    assert_extra(&extra);
    assert_schema(&input);
    assert!(input.is_object());
    output.iter().for_each(assert_schema);
    for header in &headers {
        let token = header.header.strip_prefix("mcp-param-").unwrap();
        assert!(
            !token.is_empty()
                && token.bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase())
        );
        assert!(!token.contains([
            '(', ')', '<', '>', '@', ',', ';', ':', '\\', '"', '/', '[', ']', '?', '=', '{', '}'
        ]));
        assert_eq!(
            headers.iter().filter(|other| other.header == header.header).count(),
            1,
            "{}",
            header.header
        );
    }
    let text = fields.text();
    if let Ok(value) = serde_json::from_str::<Value>(&text) {
        for schema in [Some(&input), output.as_ref()].into_iter().flatten() {
            // The outcome does not matter, but it must come before the engine's timeout.
            let _ = fuzzing::fits(schema, &value, text.len());
        }
    }
}

fn prompt(fields: &mut Fields) {
    let (prefix, name) = (fields.text(), fields.text());
    let (title, description, extra) = (fields.maybe(), fields.maybe(), fields.maybe());
    let mut arguments = Vec::new();
    while let Some(name) = fields.maybe() {
        arguments.push(PromptArgument {
            name,
            title: fields.maybe(),
            description: fields.maybe(),
            required: false,
        });
    }
    let prompt = Prompt { name, title, description, arguments, extra };
    let Ok((name, extra)) = fuzzing::prompt(&prompt, &prefix) else { return };
    assert_name(&name, &prefix, &prompt.name);
    assert_described("", prompt.title.as_deref(), prompt.description.as_deref());
    assert_extra(&extra);
    assert!(prompt.arguments.len() <= fixed_limits::PROMPT_ARGUMENTS);
    for argument in &prompt.arguments {
        assert_short(&argument.name);
        assert!(!argument.name.is_empty());
        assert_eq!(prompt.arguments.iter().filter(|other| other.name == argument.name).count(), 1);
        assert_described("", argument.title.as_deref(), argument.description.as_deref());
    }
}

fn resource(fields: &mut Fields) {
    let resource = ResourceDescriptor {
        uri: fields.text(),
        name: fields.text(),
        title: fields.maybe(),
        description: fields.maybe(),
        mime_type: fields.maybe(),
        extra: fields.maybe().filter(|extra| !extra.is_empty()),
        annotations: fields.maybe().map(annotations),
    };
    let Ok(extra) = fuzzing::resource(&resource) else { return };
    assert_uri(&resource.uri);
    assert!(!resource.name.is_empty());
    assert_described(&resource.name, resource.title.as_deref(), resource.description.as_deref());
    assert_short(resource.mime_type.as_deref().unwrap_or_default());
    assert_short(
        resource.annotations.and_then(|annotations| annotations.last_modified).as_deref().unwrap_or_default(),
    );
    assert_extra(&extra);
}

fn template(fields: &mut Fields) {
    let template = ResourceTemplate {
        uri_template: fields.text(),
        name: fields.text(),
        title: fields.maybe(),
        description: fields.maybe(),
        mime_type: fields.maybe(),
        extra: fields.maybe().filter(|extra| !extra.is_empty()),
        annotations: fields.maybe().map(annotations),
    };
    let Ok((matcher, extra)) = fuzzing::template(&template) else { return };
    assert!(!template.name.is_empty());
    assert_described(&template.name, template.title.as_deref(), template.description.as_deref());
    assert_short(template.mime_type.as_deref().unwrap_or_default());
    assert_extra(&extra);
    let text = &template.uri_template;
    assert!(text.len() <= URI_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic()), "{text:?}");
    for value in ["v", "v1~", "a%20b"] {
        let uri = expand(text, value).unwrap();
        assert!(
            uri.len() > URI_BYTES || matcher.matches(&uri),
            "{text:?} makes {uri:?} and does not know it"
        );
    }
    let uri = fields.text();
    let fixed = text.split('{').next().unwrap_or_default();
    assert!(
        !matcher.matches(&uri) || (uri.starts_with(fixed) && uri.len() <= URI_BYTES),
        "{text:?} takes {uri:?}"
    );
}

fn annotations(last_modified: String) -> Annotations {
    Annotations { audience: Vec::new(), priority: None, last_modified: Some(last_modified) }
}

fn assert_name(public: &str, prefix: &str, name: &str) {
    let expected = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}-{name}") };
    assert_eq!(public, expected);
    assert!(!name.is_empty() && public.len() <= 128, "{public:?}");
    assert!(public.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)), "{public:?}");
}

fn assert_described(name: &str, title: Option<&str>, description: Option<&str>) {
    let texts = [name, title.unwrap_or_default(), description.unwrap_or_default()];
    assert!(texts.iter().map(|text| text.len()).sum::<usize>() <= kib(fixed_limits::DESCRIPTION_KIB));
    texts.iter().for_each(|text| assert_readable("a description", text));
}

fn assert_short(text: &str) {
    assert!(text.len() <= 256);
    assert_readable("a short text", text);
}

fn assert_extra(extra: &RawObject) {
    let text = serde_json::to_string(extra).unwrap();
    assert!(is_json(text.as_bytes()) && depth(&text) <= 64, "{text}");
    strings(&text).iter().for_each(|string| assert_readable("an extra", string));
    let value: Value = serde_json::from_str(&text).unwrap();
    let field =
        |name: &str, valid: fn(&Value) -> bool| assert!(value.get(name).is_none_or(valid), "{name}: {text}");
    field("_meta", Value::is_object);
    field("size", Value::is_u64);
    field("icons", Value::is_array);
    field("execution", Value::is_object);
}

fn assert_schema(schema: &Schema) {
    let text = schema.text().get();
    assert!(
        is_json(text.as_bytes())
            && text.len() <= kib(1)
            && depth(text) <= fixed_limits::SCHEMA_DEPTH as usize,
        "{text}"
    );
    for text in [text, schema.legacy_text().get()] {
        strings(text).iter().for_each(|string| assert_readable("a schema", string));
        assert!(serde_json::from_str::<Value>(text).unwrap().is_object(), "{text}");
    }
    assert!(schema.patterns() <= fixed_limits::PATTERNS);
}

fn assert_uri(uri: &str) {
    assert!(uri.len() <= URI_BYTES && uri.bytes().all(|byte| byte.is_ascii_graphic()), "{uri:?}");
    assert!(!uri.contains(['"', '<', '>', '\\', '^', '`', '{', '|', '}']), "{uri:?}");
    let (scheme, rest) = uri.split_once(':').unwrap();
    assert!(scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && !rest.is_empty(), "{uri:?}");
    assert!(scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)), "{uri:?}");
    for escape in uri.split('%').skip(1) {
        assert!(
            escape.get(..2).is_some_and(|two| two.bytes().all(|digit| digit.is_ascii_hexdigit())),
            "{uri:?}"
        );
    }
}
