//! One skill: its `SKILL.md`, by the rules of the Agent Skills specification.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::frontmatter::{self, FrontmatterError};
use crate::plugin::ShippedFile;

/// Longest name, in characters.
const MAX_NAME: usize = 64;

/// Longest description, in characters.
const MAX_DESCRIPTION: usize = 1_024;

/// Longest text about compatibility, in characters.
const MAX_COMPATIBILITY: usize = 500;

/// What a `SKILL.md` says of its skill.
#[derive(Debug)]
pub(super) struct Skill {
    pub(super) name: String,
    pub(super) description: String,
    /// The whole frontmatter as JSON.
    pub(super) frontmatter: Box<RawValue>,
}

/// Why a skill is not published.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidSkill {
    #[error("it is not text in UTF-8")]
    NotText,
    #[error("{0}")]
    Frontmatter(#[from] FrontmatterError),
    #[error("its frontmatter has no text `{0}`; add one")]
    Missing(&'static str),
    #[error(
        "its name `{0}` is not one of a skill; write up to {MAX_NAME} lower-case letters, digits and single hyphens between them"
    )]
    Name(String),
    #[error("its name is `{0}`, and its folder is `{1}`; give both the same name")]
    OtherName(String, String),
    #[error("its `{0}` has more than {1} characters; shorten it")]
    Long(&'static str, usize),
    #[error("its `{0}` is not {1}")]
    Field(&'static str, &'static str),
}

impl Skill {
    /// Reads the `SKILL.md` of a skill in a folder of this name.
    pub(super) fn read(file: &ShippedFile, folder: &str) -> Result<Self, InvalidSkill> {
        let fields = frontmatter::parse(file.contents.as_text().ok_or(InvalidSkill::NotText)?)?;
        let name = text(&fields, "name")?;
        if !is_name(name) {
            return Err(InvalidSkill::Name(name.to_owned()));
        }
        if name != folder {
            return Err(InvalidSkill::OtherName(name.to_owned(), folder.to_owned()));
        }
        let description = text(&fields, "description")?;
        short("description", description, MAX_DESCRIPTION)?;
        check_optional(&fields)?;
        let (name, description) = (name.to_owned(), description.to_owned());
        let frontmatter = to_raw_value(&fields).map_err(|_| InvalidSkill::NotText)?;
        Ok(Self { name, description, frontmatter })
    }
}

/// A required text.
fn text<'f>(fields: &'f Map<String, Value>, name: &'static str) -> Result<&'f str, InvalidSkill> {
    let text = fields.get(name).and_then(Value::as_str).unwrap_or_default();
    if text.trim().is_empty() { Err(InvalidSkill::Missing(name)) } else { Ok(text) }
}

fn short(name: &'static str, text: &str, max: usize) -> Result<(), InvalidSkill> {
    if text.chars().count() > max { Err(InvalidSkill::Long(name, max)) } else { Ok(()) }
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= MAX_NAME && name.bytes().all(allowed) && name.split('-').all(|part| !part.is_empty())
}

/// Checks the types of the other fields that the specification has.
fn check_optional(fields: &Map<String, Value>) -> Result<(), InvalidSkill> {
    for name in ["license", "compatibility"] {
        if let Some(value) = fields.get(name) {
            short(name, value.as_str().ok_or(InvalidSkill::Field(name, "a text"))?, MAX_COMPATIBILITY)?;
        }
    }
    if fields.get("metadata").is_some_and(|metadata| !metadata.is_object()) {
        return Err(InvalidSkill::Field("metadata", "a map"));
    }
    let texts = |tools: &Value| tools.as_array().is_some_and(|tools| tools.iter().all(Value::is_string));
    match fields.get("allowed-tools") {
        Some(tools) if !tools.is_string() && !texts(tools) => {
            Err(InvalidSkill::Field("allowed-tools", "a text, or a list of texts"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(yaml: &str) -> Result<Skill, String> {
        let text = format!("---\n{yaml}\n---\n# Text\n");
        let file = ShippedFile::new("skills/review/SKILL.md", text.as_bytes());
        Skill::read(&file, "review").map_err(|error| error.to_string())
    }

    fn fault(yaml: &str) -> String {
        read(yaml).unwrap_err()
    }

    #[test]
    fn a_skill_is_read_with_all_that_its_author_wrote() {
        let skill = read("name: review\ndescription: Reviews.\nlicense: MIT\nx: [1]").unwrap();
        assert_eq!((skill.name.as_str(), skill.description.as_str()), ("review", "Reviews."));
        let json = r#"{"name":"review","description":"Reviews.","license":"MIT","x":[1]}"#;
        assert_eq!(skill.frontmatter.get(), json);
    }

    #[test]
    fn names_and_fields_are_those_of_the_specification() {
        assert!(fault("description: d").contains("no text `name`"));
        assert!(fault("name: review").contains("no text `description`"));
        assert!(fault("name: review\ndescription: \" \"").contains("no text `description`"));
        assert!(fault("name: other\ndescription: d").contains("its folder is `review`"));
        for name in ["Review", "-review", "review-", "re--view", "re_view", "r\u{e9}view", &"a".repeat(65)] {
            assert!(
                fault(&format!("name: {name}\ndescription: d")).contains("is not one of a skill"),
                "{name}"
            );
        }
        let long = format!("name: review\ndescription: {}", "é".repeat(1_025));
        assert!(fault(&long).contains("more than 1024 characters"));
        for (field, value) in
            [("license", "[a]"), ("compatibility", "true"), ("metadata", "a"), ("allowed-tools", "[1]")]
        {
            let yaml = format!("name: review\ndescription: d\n{field}: {value}");
            assert!(fault(&yaml).contains(&format!("its `{field}` is not")), "{field}");
        }
        let bytes = ShippedFile::new("skills/review/SKILL.md", &[0xff]);
        assert!(matches!(Skill::read(&bytes, "review"), Err(InvalidSkill::NotText)));
    }
}
