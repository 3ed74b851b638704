//! Resources, templates, prompts and completion, and lists that really change: a file in `/data` is a page, if there is
//! one. The variable `TEMPLATES` is a number of further templates.

use std::{env, fs};

use plugport_sdk::serde_json::json;

wit_bindgen::generate!({ path: "../../wit", world: "plugin", generate_all });

use exports::plugport::plugin::{completions, prompts, resources, tools};
use plugport::plugin::changes::{self, Listing};
use plugport::plugin::request::Call;
use plugport::plugin::types::{
    Annotations, Content, ContentData, Error, Media, ResourceContents, ResourceData, Role,
};

struct Plugin;

fn pages() -> Vec<String> {
    let entries = fs::read_dir("/data").into_iter().flatten().flatten();
    let mut pages: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    pages.sort();
    pages
}

fn contents(uri: &str, mime_type: &str, data: ResourceData) -> ResourceContents {
    ResourceContents { uri: uri.to_owned(), mime_type: Some(mime_type.to_owned()), data, extra: None }
}

fn resource(uri: &str, name: &str) -> resources::ResourceDescriptor {
    resources::ResourceDescriptor {
        uri: uri.to_owned(),
        name: name.to_owned(),
        title: Some(format!("Titled {name}")),
        description: Some(format!("The page {name}.")),
        mime_type: Some("text/plain".to_owned()),
        annotations: Some(Annotations {
            audience: vec![Role::User],
            priority: Some(0.5),
            last_modified: None,
        }),
        extra: Some(r#"{"size":5,"icons":[{"src":"data:image/png;base64,AA=="}]}"#.to_owned()),
    }
}

fn template(uri_template: &str, name: &str) -> resources::ResourceTemplate {
    resources::ResourceTemplate {
        uri_template: uri_template.to_owned(),
        name: name.to_owned(),
        title: None,
        description: Some("Made when it is read.".to_owned()),
        mime_type: Some("application/json".to_owned()),
        annotations: None,
        extra: None,
    }
}

/// A tool without arguments.
fn tool(name: &str) -> tools::Tool {
    tools::Tool {
        name: name.to_owned(),
        title: None,
        description: Some(format!("The tool {name}.")),
        input_schema: r#"{"type":"object"}"#.to_owned(),
        output_schema: None,
        annotations: None,
        extra: None,
    }
}

fn text(text: &str) -> Content {
    Content { data: ContentData::Text(text.to_owned()), annotations: None, extra: None }
}

impl tools::Guest for Plugin {
    fn list_tools() -> Result<Vec<tools::Tool>, Error> {
        let mut region = tool("region");
        region.input_schema = json!({
            "type": "object",
            "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
        })
        .to_string();
        let mut bad = tool("bad");
        bad.input_schema =
            r#"{"type":"object","properties":{"n":{"type":"number","x-mcp-header":"N"}}}"#.to_owned();
        Ok(vec![tool("write"), tool("touch"), tool("silent"), region, bad])
    }

    fn call_tool(_: Call, name: String, _: String) -> Result<tools::ToolResult, Error> {
        match name.as_str() {
            "write" => {
                let failed = |error: std::io::Error| Error::Internal(error.to_string());
                fs::write(format!("/data/page{}", pages().len()), "more").map_err(failed)?;
                changes::list_changed(Listing::Resources);
            }
            "touch" => ["lib:binary", "lib:page/static"].into_iter().for_each(changes::resource_updated),
            _ => {}
        }
        let content = if name == "silent" { Vec::new() } else { vec![text(&name)] };
        let structured = (name == "silent").then(|| r#"{"spoken":false}"#.to_owned());
        Ok(tools::ToolResult { content, structured, is_error: false, extra: None })
    }
}

impl resources::Guest for Plugin {
    fn list_resources() -> Result<Vec<resources::ResourceDescriptor>, Error> {
        let mut listed = vec![resource("lib:page/static", "static"), resource("lib:binary", "binary")];
        listed.extend(pages().iter().map(|page| resource(&format!("lib:page/{page}"), page)));
        listed.push(resource("no scheme", "relative"));
        Ok(listed)
    }

    fn list_resource_templates() -> Result<Vec<resources::ResourceTemplate>, Error> {
        let more = env::var("TEMPLATES").ok().and_then(|count| count.parse().ok()).unwrap_or(0);
        let mut listed = vec![template("lib:item/{id}/data", "item"), template("lib:broken/{", "broken")];
        listed.extend(
            (0..more).map(|number| template(&format!("lib:{number}{{id}}/x"), &format!("t{number}"))),
        );
        Ok(listed)
    }

    fn read_resource(
        _: Call,
        uri: String,
        template: Option<resources::MatchedTemplate>,
    ) -> Result<Vec<ResourceContents>, Error> {
        if uri == "lib:binary" {
            return Ok(vec![contents(&uri, "image/png", ResourceData::Blob(vec![0x89, b'P', b'N', b'G']))]);
        }
        if let Some(page) = uri.strip_prefix("lib:page/") {
            return Ok(vec![contents(&uri, "text/plain", ResourceData::Text(page.to_owned()))]);
        }
        let variables = template.map(|template| template.variables).unwrap_or_default();
        match variables.as_slice() {
            [(name, id)] if name == "id" && id == "crash" => panic!("asked to"),
            [(name, id)] if name == "id" && id != "missing" => {
                let text = json!({ "id": id }).to_string();
                Ok(vec![contents(&uri, "application/json", ResourceData::Text(text))])
            }
            _ => Err(Error::NotFound(uri)),
        }
    }
}

impl prompts::Guest for Plugin {
    fn list_prompts() -> Result<Vec<prompts::Prompt>, Error> {
        let argument = |name: &str, required| prompts::PromptArgument {
            name: name.to_owned(),
            title: Some(format!("Titled {name}")),
            description: None,
            required,
        };
        Ok(vec![prompts::Prompt {
            name: "review".to_owned(),
            title: Some("Review".to_owned()),
            description: Some("Ask for a review.".to_owned()),
            arguments: vec![argument("topic", true), argument("tone", false)],
            extra: Some(r#"{"_meta":{"k":1}}"#.to_owned()),
        }])
    }

    fn get_prompt(
        _: Call,
        name: String,
        args: Vec<(String, String)>,
    ) -> Result<prompts::PromptResult, Error> {
        let said = args.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",");
        let data = ContentData::Audio(Media { data: vec![0], mime_type: "audio/wav".to_owned() });
        let sound = Content { data, annotations: None, extra: None };
        let message = |role, content| prompts::PromptMessage { role, content };
        Ok(prompts::PromptResult {
            description: Some(name),
            messages: vec![message(Role::User, text(&said)), message(Role::Assistant, sound)],
            extra: None,
        })
    }
}

impl completions::Guest for Plugin {
    fn complete(
        _: Call,
        target: completions::Target,
        argument: String,
        value: String,
        context: Vec<(String, String)>,
    ) -> Result<completions::Completion, Error> {
        let target = match target {
            completions::Target::Prompt(name) | completions::Target::ResourceUri(name) => name,
        };
        let first = format!("{target} {argument} {}", context.len());
        let values = std::iter::once(first).chain((0..).map(|n| format!("{value}{n}"))).take(150).collect();
        Ok(completions::Completion { values, total: None, has_more: false })
    }
}

export!(Plugin);
