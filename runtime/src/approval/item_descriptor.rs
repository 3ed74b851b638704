//! One item as it was approved: the text that the operator read, and its digest.
//!
//! Every field that clients see is in the text. The patterns have no `..`, so that a new field does not compile until
//! it is added here.

use serde::{Deserialize, Serialize};

use super::canonical_text::ItemText;
use super::sha256::sha256;
use crate::plugin::{
    Annotations, Prompt, PromptArgument, ResourceDescriptor, ResourceTemplate, Role, ShippedFile, Tool,
    ToolAnnotations,
};

/// Longest text of a file that is recorded, in bytes as it is written. All files of a plugin together could fill the
/// lockfile, and control characters are written as six.
const MAX_RECORDED: usize = 64 << 10;

/// What clients see of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemDescriptor {
    /// `sha256:` and the digest of `says`.
    pub digest: String,
    /// The text of the item, with every field.
    pub says: String,
}

impl ItemDescriptor {
    fn new(out: ItemText) -> Self {
        let says = out.finish();
        Self { digest: sha256(says.as_bytes()), says }
    }

    /// Whether the digest is that of the text.
    pub(super) fn is_whole(&self) -> bool {
        self.digest == sha256(self.says.as_bytes())
    }
}

/// The descriptor of a tool. `published` is the name that clients use. The plugin's own name is its key in the
/// lockfile. `app` is the path of its app, whether or not that is published: taking away a grant changes no tool.
#[must_use]
pub fn tool(published: &str, tool: &Tool, app: Option<&str>) -> ItemDescriptor {
    let Tool { name: _, title, description, input_schema, output_schema, annotations, extra } = tool;
    let mut out = ItemText::default();
    out.text("name", published);
    out.optional("title", title.as_ref()).optional("description", description.as_ref());
    out.json("input schema", Some(input_schema)).json("output schema", output_schema.as_ref());
    if let Some(ToolAnnotations { read_only, destructive, idempotent, open_world }) = annotations {
        out.text("annotations", "");
        for (name, hint) in [
            ("read only", read_only),
            ("destructive", destructive),
            ("idempotent", idempotent),
            ("open world", open_world),
        ] {
            if let Some(hint) = hint {
                out.word(name, hint);
            }
        }
    }
    out.json("further fields", some(extra));
    if let Some(app) = app {
        out.text("app", app);
    }
    ItemDescriptor::new(out)
}

/// The descriptor of a resource, and of the file that it is. Of a skill the operator reads every text, since a skill
/// instructs a model. A long one is not recorded: see [`unrecorded_text`].
#[must_use]
pub fn resource(resource: &ResourceDescriptor, file: Option<&ShippedFile>) -> ItemDescriptor {
    let ResourceDescriptor { uri, name, title, description, mime_type, annotations, extra } = resource;
    let mut out = ItemText::default();
    out.text("URI", uri).text("name", name);
    out.optional("title", title.as_ref()).optional("description", description.as_ref());
    out.optional("media type", mime_type.as_ref());
    annotated(&mut out, annotations.as_ref());
    out.json("further fields", some(extra));
    if let Some(file) = file {
        let ShippedFile { path, contents, digest } = file;
        out.text("file", path).text("file's digest", digest);
        if path.starts_with("skills/") {
            match skill_text(file) {
                None => out.word("not text", format!("{} bytes", contents.as_bytes().len())),
                Some(text) if text.len() > MAX_RECORDED => out.word(
                    "long text",
                    format!("{} bytes, of which this has the digest", contents.as_bytes().len()),
                ),
                Some(text) => out.part(&text),
            };
        }
    }
    ItemDescriptor::new(out)
}

/// The text of a file of a skill that its descriptor leaves out, as an operator reads it.
#[must_use]
pub fn unrecorded_text(file: &ShippedFile) -> Option<String> {
    let text = skill_text(file).filter(|_| file.path.starts_with("skills/"));
    text.filter(|text| text.len() > MAX_RECORDED)
}

/// The text of a file as an operator reads it; `None` if it is not text.
fn skill_text(file: &ShippedFile) -> Option<String> {
    let mut out = ItemText::default();
    out.text("text", file.contents.as_text()?);
    Some(out.finish())
}

/// The descriptor of a resource template.
#[must_use]
pub fn template(template: &ResourceTemplate) -> ItemDescriptor {
    let ResourceTemplate { uri_template, name, title, description, mime_type, annotations, extra } = template;
    let mut out = ItemText::default();
    out.text("URI template", uri_template).text("name", name);
    out.optional("title", title.as_ref()).optional("description", description.as_ref());
    out.optional("media type", mime_type.as_ref());
    annotated(&mut out, annotations.as_ref());
    out.json("further fields", some(extra));
    ItemDescriptor::new(out)
}

/// The descriptor of a prompt. `published` is the name that clients use.
#[must_use]
pub fn prompt(published: &str, prompt: &Prompt) -> ItemDescriptor {
    let Prompt { name: _, title, description, arguments, extra } = prompt;
    let mut out = ItemText::default();
    out.text("name", published);
    out.optional("title", title.as_ref()).optional("description", description.as_ref());
    for PromptArgument { name, title, description, required } in arguments {
        out.text("argument", name).optional("argument's title", title.as_ref());
        out.optional("argument's description", description.as_ref());
        out.word("argument is required", required);
    }
    out.json("further fields", some(extra));
    ItemDescriptor::new(out)
}

fn annotated(out: &mut ItemText, annotations: Option<&Annotations>) {
    let Some(Annotations { audience, priority, last_modified }) = annotations else { return };
    out.text("annotations", "");
    for role in audience {
        let role = match role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        out.word("audience", role);
    }
    if let Some(priority) = priority {
        out.word("priority", priority);
    }
    out.optional("last modified", last_modified.as_ref());
}

/// The further fields, unless the text for them is empty.
fn some(extra: &Option<String>) -> Option<&String> {
    extra.as_ref().filter(|extra| !extra.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn a_tool() -> Tool {
        Tool {
            name: "t".into(),
            title: None,
            description: text("Does it.\nWell."),
            input_schema: r#"{"type":"object"}"#.into(),
            output_schema: None,
            annotations: None,
            extra: None,
        }
    }

    fn a_resource() -> ResourceDescriptor {
        ResourceDescriptor {
            uri: "n:a".into(),
            name: "a".into(),
            title: None,
            description: None,
            mime_type: None,
            annotations: None,
            extra: None,
        }
    }

    fn a_template() -> ResourceTemplate {
        ResourceTemplate {
            uri_template: "n:{a}".into(),
            name: "a".into(),
            title: None,
            description: None,
            mime_type: None,
            annotations: None,
            extra: None,
        }
    }

    fn a_prompt() -> Prompt {
        Prompt { name: "p".into(), title: None, description: None, arguments: Vec::new(), extra: None }
    }

    fn an_argument() -> PromptArgument {
        PromptArgument { name: "a".into(), title: None, description: None, required: false }
    }

    fn no_hints() -> ToolAnnotations {
        ToolAnnotations { read_only: None, destructive: None, idempotent: None, open_world: None }
    }

    fn no_annotations() -> Annotations {
        Annotations { audience: Vec::new(), priority: None, last_modified: None }
    }

    fn every_annotation() -> Vec<Option<Annotations>> {
        vec![
            Some(no_annotations()),
            Some(Annotations { audience: vec![Role::User], ..no_annotations() }),
            Some(Annotations { audience: vec![Role::Assistant], ..no_annotations() }),
            Some(Annotations { priority: Some(0.5), ..no_annotations() }),
            Some(Annotations { last_modified: text("2026-01-01"), ..no_annotations() }),
        ]
    }

    /// All of them differ, digest and words.
    fn differ(descriptors: &[ItemDescriptor]) {
        for (at, one) in descriptors.iter().enumerate() {
            assert!(one.is_whole() && one.says.ends_with('\n'), "{one:?}");
            let alike = |other: &&ItemDescriptor| other.digest == one.digest || other.says == one.says;
            assert_eq!(descriptors.iter().skip(at + 1).find(alike), None, "{one:?}");
        }
    }

    #[test]
    fn a_tool_is_told_so_that_people_can_read_it() {
        let hints = ToolAnnotations { read_only: Some(true), ..no_hints() };
        let told = tool("p-t", &Tool { title: text("T"), annotations: Some(hints), ..a_tool() }, None);
        assert_eq!(
            told.says,
            "name: p-t\ntitle: T\ndescription:\n  Does it.\n  Well.\ninput schema:\n  {\n    \"type\": \"object\"\n  }\n\
             annotations:\nread only: true\n"
        );
    }

    #[test]
    fn every_field_of_a_tool_is_in_its_digest() {
        let hints = |change: fn(&mut ToolAnnotations)| {
            let mut hints = no_hints();
            change(&mut hints);
            Tool { annotations: Some(hints), ..a_tool() }
        };
        let tools = [
            a_tool(),
            Tool { title: text(""), ..a_tool() },
            Tool { title: text("T"), ..a_tool() },
            Tool { description: None, ..a_tool() },
            Tool { description: text("Does it. Well."), ..a_tool() },
            Tool { description: text("Does it.\nWell.\n"), ..a_tool() },
            Tool { input_schema: r#"{"type":"object","properties":{}}"#.into(), ..a_tool() },
            Tool { output_schema: text(r#"{"type":"object"}"#), ..a_tool() },
            Tool { output_schema: text("{}"), ..a_tool() },
            hints(|_| {}),
            hints(|hints| hints.read_only = Some(true)),
            hints(|hints| hints.read_only = Some(false)),
            hints(|hints| hints.destructive = Some(true)),
            hints(|hints| hints.idempotent = Some(true)),
            hints(|hints| hints.open_world = Some(true)),
            Tool { extra: text(r#"{"icons":[]}"#), ..a_tool() },
            Tool { extra: text(r#"{"_meta":{"a":1}}"#), ..a_tool() },
        ];
        let mut told: Vec<_> = tools.iter().map(|one| tool("t", one, None)).collect();
        told.push(tool("p-t", &a_tool(), None));
        told.extend(["a.html", "b.html"].map(|app| tool("t", &a_tool(), Some(app))));
        differ(&told);
    }

    #[test]
    fn every_field_of_a_resource_is_in_its_digest() {
        let mut resources = vec![
            a_resource(),
            ResourceDescriptor { uri: "n:b".into(), ..a_resource() },
            ResourceDescriptor { name: "b".into(), ..a_resource() },
            ResourceDescriptor { title: text("x"), ..a_resource() },
            ResourceDescriptor { description: text("x"), ..a_resource() },
            ResourceDescriptor { mime_type: text("x"), ..a_resource() },
            ResourceDescriptor { extra: text(r#"{"size":1}"#), ..a_resource() },
        ];
        let annotated = |annotations| ResourceDescriptor { annotations, ..a_resource() };
        resources.extend(every_annotation().into_iter().map(annotated));
        let mut told: Vec<_> = resources.iter().map(|one| resource(one, None)).collect();
        let file = |path, text: &str| Some(ShippedFile::new(path, text.as_bytes()));
        for file in
            [file("skills/a/b", "x"), file("skills/a/b", "y"), file("skills/a/c", "x"), file("ui/a", "x")]
        {
            told.push(resource(&a_resource(), file.as_ref()));
        }
        differ(&told);
    }

    #[test]
    fn the_text_of_a_skill_is_shown_and_of_an_app_what_it_may_reach() {
        let skill = ShippedFile::new("skills/a/SKILL.md", b"One.\nTwo.");
        let told = resource(&a_resource(), Some(&skill)).says;
        assert!(told.ends_with("text:\n  One.\n  Two.\n"), "{told}");
        let app = ShippedFile::new("ui/a.html", b"<p>");
        let told = resource(&a_resource(), Some(&app)).says;
        assert!(told.contains("file's digest: sha256:") && !told.contains("<p>"), "{told}");
    }

    #[test]
    fn a_long_text_is_shown_and_its_digest_recorded() {
        let long = "x\n".repeat(MAX_RECORDED / 2);
        let file = ShippedFile::new("skills/a/SKILL.md", long.as_bytes());
        let told = resource(&a_resource(), Some(&file)).says;
        assert!(told.contains("long text: 65536 bytes") && told.len() < 1_000, "{told}");
        assert!(unrecorded_text(&file).is_some_and(|text| text.len() > long.len()));
        let nul = ShippedFile::new("skills/a/x.bin", &[0; 20_000]);
        assert!(resource(&a_resource(), Some(&nul)).says.contains("long text: 20000 bytes"));
        let short = ShippedFile::new("skills/a/SKILL.md", b"x");
        assert_eq!(unrecorded_text(&short), None);
        let app = ShippedFile::new("ui/a.html", long.as_bytes());
        assert_eq!(unrecorded_text(&app), None);
        let data = ShippedFile::new("skills/a/x.bin", b"do it\xff");
        let told = resource(&a_resource(), Some(&data)).says;
        assert!(told.ends_with("not text: 6 bytes\n"), "{told}");
    }

    #[test]
    fn every_field_of_a_template_is_in_its_digest() {
        let mut templates = vec![
            a_template(),
            ResourceTemplate { uri_template: "n:{b}".into(), ..a_template() },
            ResourceTemplate { name: "b".into(), ..a_template() },
            ResourceTemplate { title: text("x"), ..a_template() },
            ResourceTemplate { description: text("x"), ..a_template() },
            ResourceTemplate { mime_type: text("x"), ..a_template() },
            ResourceTemplate { extra: text(r#"{"size":1}"#), ..a_template() },
        ];
        let annotated = |annotations| ResourceTemplate { annotations, ..a_template() };
        templates.extend(every_annotation().into_iter().map(annotated));
        differ(&templates.iter().map(template).collect::<Vec<_>>());
    }

    #[test]
    fn every_field_of_a_prompt_is_in_its_digest() {
        let with = |arguments| Prompt { arguments, ..a_prompt() };
        let prompts = [
            a_prompt(),
            Prompt { title: text("x"), ..a_prompt() },
            Prompt { description: text("x"), ..a_prompt() },
            Prompt { extra: text(r#"{"icons":[]}"#), ..a_prompt() },
            with(vec![an_argument()]),
            with(vec![an_argument(), an_argument()]),
            with(vec![PromptArgument { name: "b".into(), ..an_argument() }]),
            with(vec![PromptArgument { title: text("x"), ..an_argument() }]),
            with(vec![PromptArgument { description: text("x"), ..an_argument() }]),
            with(vec![PromptArgument { required: true, ..an_argument() }]),
        ];
        let mut told: Vec<_> = prompts.iter().map(|one| prompt("p", one)).collect();
        told.push(prompt("q-p", &a_prompt()));
        differ(&told);
    }
}
