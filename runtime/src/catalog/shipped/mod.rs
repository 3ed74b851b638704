//! The files that a plugin ships, as resources: skills below `skills/`, apps below `ui/`.
//!
//! They are items like others, so lists, roles, name conflicts and approval hold for them without rules of their own.
//! Their URIs name the plugin: `skill://PREFIX/NAME/...` and `ui://PREFIX/...`. A skill is published whole or not at
//! all, since its manifest has to be complete.

mod app;
mod frontmatter;
mod media_type;
mod skill;
mod tool_links;

use std::collections::BTreeMap;

use super::items::{PublishedFile, PublishedResource};
use super::validation::InvalidItem;
use crate::config::UiGrant;
use crate::plugin::{ResourceDescriptor, ShippedFile};
use app::{APP_SUFFIX, AppMeta, InvalidApp, META_SUFFIX};
use skill::{InvalidSkill, Skill};
pub(super) use tool_links::{LinkedTool, ToolLinks};

/// The name of the file that makes a folder a skill.
const SKILL_FILE: &str = "SKILL.md";

/// What becomes of the files of a plugin.
#[derive(Debug, Default)]
pub(super) struct ShippedItems {
    /// Valid ones.
    pub(super) resources: Vec<(ResourceDescriptor, PublishedFile)>,
    /// The others, by path, with the reason.
    pub(super) rejected: Vec<(String, String)>,
    /// Which tools have which app.
    pub(super) links: ToolLinks,
}

/// Why files are not published.
#[derive(Debug, thiserror::Error)]
enum InvalidFile {
    #[error("{0}")]
    Skill(#[from] InvalidSkill),
    #[error("{0}")]
    App(#[from] InvalidApp),
    #[error("{0}")]
    Item(#[from] InvalidItem),
    #[error("its skill has no {SKILL_FILE}; add one, or move the file into the folder of a skill")]
    NoSkill,
    #[error(
        "its name says that it is text, and it is not in UTF-8; save it as UTF-8, or give it another ending"
    )]
    NotText,
    #[error("of its skill, `{0}` is invalid: {1}")]
    Nested(String, Box<Self>),
    #[error(
        "an app is one file `NAME{APP_SUFFIX}`, with `NAME{META_SUFFIX}` beside it; put scripts, styles and images into it"
    )]
    NoApp,
}

impl ShippedItems {
    /// The items of these files, which are in order of their paths. `host` stands after the scheme of each URI.
    pub(super) fn of(files: &[ShippedFile], host: &str, granted: &UiGrant) -> Self {
        let mut items = Self::default();
        let mut skills: BTreeMap<&str, Vec<&ShippedFile>> = BTreeMap::new();
        for file in files {
            match file.path.split_once('/') {
                Some(("skills", path)) => {
                    let folder = path.split_once('/').map_or(path, |(folder, _)| folder);
                    skills.entry(folder).or_default().push(file);
                }
                _ => items.add_app(file, files, host, granted),
            }
        }
        for (folder, files) in skills {
            match skill_resources(&files, host) {
                Ok(resources) => items.resources.extend(resources),
                Err(error) => items.rejected.push((format!("skills/{folder}"), error.to_string())),
            }
        }
        items
    }

    fn add_app(&mut self, file: &ShippedFile, files: &[ShippedFile], host: &str, granted: &UiGrant) {
        let has = |stem: &str, suffix: &str| {
            let path = format!("{stem}{suffix}");
            files.iter().find(|other| *other.path == *path)
        };
        let (stem, about) = match (file.path.strip_suffix(META_SUFFIX), file.path.strip_suffix(APP_SUFFIX)) {
            (Some(stem), _) if has(stem, APP_SUFFIX).is_some() => return,
            (None, Some(stem)) => (stem, AppMeta::read(has(stem, META_SUFFIX))),
            _ => {
                self.links.add(file.path.strip_prefix("ui/").unwrap_or(&file.path), None, Vec::new());
                self.rejected.push((file.path.to_string(), InvalidFile::NoApp.to_string()));
                return;
            }
        };
        let stem = stem.strip_prefix("ui/").unwrap_or(stem);
        // The tools want the app whether it is published or not.
        let (about, tools) = match about {
            Ok(mut about) => {
                let tools = std::mem::take(&mut about.tools);
                (Ok(about), tools)
            }
            Err(error) => (Err(error.into()), Vec::new()),
        };
        let made = about.and_then(|about| app_resource(file, stem, about, host, granted));
        let uri = made.as_ref().ok().map(|resource| resource.uri.as_str());
        self.links.add(&format!("{stem}{APP_SUFFIX}"), uri, tools);
        match made {
            Ok(resource) => {
                self.resources.push((resource, PublishedFile { file: file.clone(), skill: None }))
            }
            Err(error) => self.rejected.push((file.path.to_string(), error.to_string())),
        }
    }
}

/// The resources of one skill with all that is nested in it.
fn skill_resources(
    files: &[&ShippedFile],
    host: &str,
) -> Result<Vec<(ResourceDescriptor, PublishedFile)>, InvalidFile> {
    let is_own = |file: &&ShippedFile| file.path.matches('/').count() == 2 && is_skill_file(file);
    if !files.iter().any(is_own) {
        return Err(InvalidFile::NoSkill);
    }
    files
        .iter()
        .map(|file| {
            let made = skill_resource(file, host);
            made.map_err(|error| InvalidFile::Nested(file.path.to_string(), Box::new(error)))
        })
        .collect()
}

fn is_skill_file(file: &ShippedFile) -> bool {
    file.path.ends_with(&format!("/{SKILL_FILE}"))
}

fn skill_resource(
    file: &ShippedFile,
    host: &str,
) -> Result<(ResourceDescriptor, PublishedFile), InvalidFile> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or_default();
    let folder = folder.rsplit('/').next().unwrap_or_default();
    let skill = is_skill_file(file).then(|| Skill::read(file, folder)).transpose()?;
    let path = file.path.strip_prefix("skills/").unwrap_or(&file.path);
    let is_text = file.contents.as_text().is_some();
    let media_type = media_type::of(name, is_text);
    // Otherwise one invalid byte would hide a text from the operator who approves it.
    if !is_text && media_type::is_text(media_type) {
        return Err(InvalidFile::NotText);
    }
    let resource = ResourceDescriptor {
        uri: format!("skill://{host}/{path}"),
        name: skill.as_ref().map_or(name, |skill| &skill.name).to_owned(),
        title: None,
        description: skill.as_ref().map(|skill| skill.description.clone()),
        mime_type: Some(media_type.to_owned()),
        annotations: None,
        extra: Some(format!("{{\"size\":{}}}", file.size())),
    };
    PublishedResource::check(&resource, &UiGrant::default())?;
    let skill = skill.map(|skill| skill.frontmatter.into());
    Ok((resource, PublishedFile { file: file.clone(), skill }))
}

/// The resource of an app, whose path below `ui/` begins with `stem`.
fn app_resource(
    file: &ShippedFile,
    stem: &str,
    about: AppMeta,
    host: &str,
    granted: &UiGrant,
) -> Result<ResourceDescriptor, InvalidFile> {
    if file.contents.as_text().is_none() {
        return Err(InvalidApp::NotText.into());
    }
    let resource = ResourceDescriptor {
        uri: format!("ui://{host}/{stem}{APP_SUFFIX}"),
        name: stem.rsplit('/').next().unwrap_or(stem).to_owned(),
        extra: Some(about.extra(file.size())?),
        title: about.title,
        description: about.description,
        mime_type: Some(media_type::APP.to_owned()),
        annotations: None,
    };
    PublishedResource::check(&resource, granted)?;
    Ok(resource)
}

/// Reads the frontmatter of a `SKILL.md`.
pub(super) fn frontmatter(text: &str) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    frontmatter::parse(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REVIEW: &str = "---\nname: review\ndescription: Reviews code.\n---\n# Review\n";

    fn items(files: &[(&str, &str)]) -> ShippedItems {
        let mut files: Vec<_> =
            files.iter().map(|(path, text)| ShippedFile::new(path, text.as_bytes())).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        ShippedItems::of(&files, "p", &UiGrant::default())
    }

    fn uris(items: &ShippedItems) -> Vec<&str> {
        items.resources.iter().map(|(resource, _)| resource.uri.as_str()).collect()
    }

    #[test]
    fn a_skill_is_published_with_all_its_files() {
        let nested = REVIEW.replace("review", "style");
        let items = items(&[
            ("skills/review/SKILL.md", REVIEW),
            ("skills/review/notes/a.txt", "a"),
            ("skills/review/style/SKILL.md", &nested),
        ]);
        let expected =
            ["skill://p/review/SKILL.md", "skill://p/review/notes/a.txt", "skill://p/review/style/SKILL.md"];
        assert_eq!(uris(&items), expected);
        let (resource, file) = &items.resources[0];
        assert_eq!(
            (resource.name.as_str(), resource.mime_type.as_deref()),
            ("review", Some("text/markdown"))
        );
        assert_eq!(resource.extra.as_deref(), Some(format!("{{\"size\":{}}}", REVIEW.len()).as_str()));
        assert!(file.skill.is_some() && items.resources[1].1.skill.is_none() && items.rejected.is_empty());
    }

    #[test]
    fn a_text_with_an_invalid_byte_is_rejected_and_data_is_not() {
        let files = |name: &str| {
            [
                ShippedFile::new("skills/review/SKILL.md", REVIEW.as_bytes()),
                ShippedFile::new(&format!("skills/review/{name}"), b"do it\xff"),
            ]
        };
        let of = |name: &str| ShippedItems::of(&files(name), "p", &UiGrant::default());
        assert_eq!(of("x.bin").resources.len(), 2);
        for name in ["notes.md", "run.py", "data.json"] {
            let items = of(name);
            assert!(items.resources.is_empty() && items.rejected[0].1.contains("not in UTF-8"), "{items:?}");
        }
    }

    #[test]
    fn a_skill_with_one_invalid_file_is_not_published_and_others_are() {
        let items = items(&[
            ("skills/bad/SKILL.md", &REVIEW.replace("name: review", "name: bad")),
            ("skills/bad/more/SKILL.md", "none"),
            ("skills/lost/notes.md", ""),
            ("skills/README.md", ""),
            ("skills/review/SKILL.md", REVIEW),
        ]);
        assert_eq!(uris(&items), ["skill://p/review/SKILL.md"]);
        let rejected: Vec<_> = items.rejected.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(rejected, ["skills/README.md", "skills/bad", "skills/lost"]);
        assert!(items.rejected[1].1.contains("`skills/bad/more/SKILL.md` is invalid: line 1:"), "{items:?}");
        assert!(items.rejected[2].1.contains("no SKILL.md"), "{items:?}");
    }

    #[test]
    fn an_app_is_one_file_and_what_is_said_of_it() {
        let about = r#"{"title":"Table","tools":["sort"],"csp":{}}"#;
        let items = items(&[
            ("ui/table.html", "<p>"),
            ("ui/table.meta.json", about),
            ("ui/deep/plain.html", "<p>"),
            ("ui/far.html", "<p>"),
            ("ui/far.meta.json", r#"{"csp":{"connectDomains":["https://a.test"]}}"#),
            ("ui/script.js", ""),
            ("ui/lost.meta.json", ""),
        ]);
        assert_eq!(uris(&items), ["ui://p/deep/plain.html", "ui://p/table.html"]);
        let (table, _) = &items.resources[1];
        assert_eq!((table.name.as_str(), table.title.as_deref()), ("table", Some("Table")));
        assert_eq!(table.mime_type.as_deref(), Some("text/html;profile=mcp-app"));
        let rejected: Vec<_> = items.rejected.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(rejected, ["ui/far.html", "ui/lost.meta.json", "ui/script.js"]);
        assert!(items.rejected[0].1.contains("is not granted that"), "{items:?}");
    }
}
