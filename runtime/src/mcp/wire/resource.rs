//! Resources and templates of their lists, and the result of `resources/read`.

use data_encoding::BASE64;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::super::result_writer::ResultFields;
use super::super::revision::Revision;
use super::annotations::AnnotationsView;
use super::extension_fields::{read_app_extra, write_fields, write_title_and_description};
use super::list::ListItem;
use crate::catalog::{PublishedResource, PublishedTemplate};
use crate::config::UiGrant;
use crate::json::RawObject;
use crate::plugin::{Annotations, ResourceContents, ResourceData, ResourceDescriptor, ResourceTemplate};

const OWN: &[&str] =
    &["uri", "uriTemplate", "name", "title", "description", "mimeType", "annotations", "text", "blob"];

/// How long a client may cache contents: not at all, because the server does not know when they change.
const READ_TTL_MS: u64 = 0;

impl ListItem for PublishedResource {
    const FIELD: &'static str = "resources";

    fn show<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        show_resource(map, &self.resource, &self.extra, revision)
    }
}

impl ListItem for PublishedTemplate {
    const FIELD: &'static str = "resourceTemplates";

    fn show<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        show_template(map, &self.template, &self.extra, revision)
    }
}

fn show_resource<M: SerializeMap>(
    map: &mut M,
    resource: &ResourceDescriptor,
    extra: &RawObject,
    revision: Revision,
) -> Result<(), M::Error> {
    let ResourceDescriptor { uri, name, title, description, mime_type, annotations, .. } = resource;
    map.serialize_entry("uri", uri)?;
    map.serialize_entry("name", name)?;
    write_title_and_description(map, title.as_ref(), description.as_ref(), revision)?;
    write_kind(map, mime_type.as_ref(), annotations.as_ref(), revision)?;
    write_fields(map, extra, OWN, revision)
}

fn show_template<M: SerializeMap>(
    map: &mut M,
    template: &ResourceTemplate,
    extra: &RawObject,
    revision: Revision,
) -> Result<(), M::Error> {
    let ResourceTemplate { uri_template, name, title, description, mime_type, annotations, .. } = template;
    map.serialize_entry("uriTemplate", uri_template)?;
    map.serialize_entry("name", name)?;
    write_title_and_description(map, title.as_ref(), description.as_ref(), revision)?;
    write_kind(map, mime_type.as_ref(), annotations.as_ref(), revision)?;
    write_fields(map, extra, OWN, revision)
}

fn write_kind<M: SerializeMap>(
    map: &mut M,
    mime_type: Option<&String>,
    annotations: Option<&Annotations>,
    revision: Revision,
) -> Result<(), M::Error> {
    if let Some(mime_type) = mime_type {
        map.serialize_entry("mimeType", mime_type)?;
    }
    if let Some(annotations) = annotations {
        map.serialize_entry("annotations", &AnnotationsView(annotations, revision))?;
    }
    Ok(())
}

/// Contents, with their additional fields parsed.
pub(super) struct Contents<'a> {
    contents: &'a ResourceContents,
    extra: RawObject,
}

/// Contents in the form of one revision.
pub(super) struct ContentsView<'a> {
    pub(super) contents: &'a ResourceContents,
    pub(super) extra: &'a RawObject,
    pub(super) revision: Revision,
}

impl Serialize for ContentsView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("uri", &self.contents.uri)?;
        if let Some(mime_type) = &self.contents.mime_type {
            map.serialize_entry("mimeType", mime_type)?;
        }
        match &self.contents.data {
            ResourceData::Text(text) => map.serialize_entry("text", text)?,
            ResourceData::Blob(bytes) => map.serialize_entry("blob", &BASE64.encode(bytes))?,
        }
        write_fields(&mut map, self.extra, OWN, self.revision)?;
        map.end()
    }
}

/// The result of `resources/read`, with its JSON parts parsed.
pub(in super::super) struct ReadView<'a>(Vec<Contents<'a>>);

impl<'a> ReadView<'a> {
    /// Parses the parts of a result that are JSON, of a plugin whose apps are granted this.
    ///
    /// # Errors
    /// When a part is invalid, with the plugin's mistake.
    pub(in super::super) fn new(contents: &'a [ResourceContents], granted: &UiGrant) -> Result<Self, String> {
        let read = |contents: &'a ResourceContents| {
            read_app_extra(contents.extra.as_ref(), granted).map(|extra| Contents { contents, extra })
        };
        contents.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// The same result without the contents of hidden resources.
    pub(in super::super) fn without_resources(mut self, is_hidden: impl Fn(&str) -> bool) -> Self {
        self.0.retain(|Contents { contents, .. }| !is_hidden(&contents.uri));
        self
    }
}

struct ContentsList<'a>(&'a [Contents<'a>], Revision);

impl Serialize for ContentsList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for Contents { contents, extra } in self.0 {
            list.serialize_element(&ContentsView { contents, extra, revision: self.1 })?;
        }
        list.end()
    }
}

impl ResultFields for ReadView<'_> {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        map.serialize_entry("contents", &ContentsList(&self.0, revision))?;
        if revision.is_stateless() {
            map.serialize_entry("ttlMs", &READ_TTL_MS)?;
            map.serialize_entry("cacheScope", "private")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::super::extension_fields::read_extra;
    use super::super::list::ItemViews;
    use super::*;
    use crate::config::UiReach;
    use crate::mcp::result_writer::EncodedResult;
    use crate::plugin::Role;

    struct Sample(ResourceDescriptor);

    impl ListItem for Sample {
        const FIELD: &'static str = "resources";

        fn show<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
            let extra = read_extra(self.0.extra.as_ref()).unwrap();
            show_resource(map, &self.0, &extra, revision)
        }
    }

    fn shown(revision: Revision) -> Value {
        let annotations = Annotations {
            audience: vec![Role::User],
            priority: Some(0.5),
            last_modified: Some("2026-01-01T00:00:00Z".into()),
        };
        let resource = ResourceDescriptor {
            uri: "n:a".into(),
            name: "a".into(),
            title: Some("A".into()),
            description: Some("The first.".into()),
            mime_type: Some("text/plain".into()),
            annotations: Some(annotations),
            extra: Some(r#"{"size":3,"_meta":{"k":1},"icons":[{"src":"data:,"}],"uri":"forged"}"#.into()),
        };
        let items = [Arc::new(Sample(resource))];
        serde_json::to_value(ItemViews { items: &items, revision }).unwrap()[0].take()
    }

    #[test]
    fn each_revision_gets_the_fields_it_has() {
        let oldest = json!({
            "uri": "n:a", "name": "a", "description": "The first.", "mimeType": "text/plain",
            "annotations": { "audience": ["user"], "priority": 0.5 }, "size": 3,
        });
        assert_eq!(shown(Revision::V2024_11_05), oldest);
        assert_eq!(shown(Revision::V2025_03_26), oldest);
        let mut titled = oldest;
        titled["title"] = json!("A");
        titled["_meta"] = json!({ "k": 1 });
        titled["annotations"]["lastModified"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(shown(Revision::V2025_06_18), titled);
        titled["icons"] = json!([{ "src": "data:," }]);
        assert_eq!(shown(Revision::V2025_11_25), titled);
        assert_eq!(shown(Revision::V2026_07_28), titled);
    }

    #[test]
    fn contents_are_text_or_base64_and_only_the_newest_revision_says_how_long_they_keep() {
        let contents = |data| ResourceContents { uri: "n:a".into(), mime_type: None, data, extra: None };
        let read = [contents(ResourceData::Text("t".into())), contents(ResourceData::Blob(vec![0, 255]))];
        let view = ReadView::new(&read, &UiGrant::default()).unwrap();
        let written = |revision| -> Value {
            let result = EncodedResult::new(&view, revision, serde_json::value::RawValue::NULL).unwrap();
            serde_json::from_slice(result.as_json()).unwrap()
        };
        let plain = json!({ "contents": [{ "uri": "n:a", "text": "t" }, { "uri": "n:a", "blob": "AP8=" }] });
        assert_eq!(written(Revision::V2025_11_25), plain);
        let newest = written(Revision::V2026_07_28);
        assert_eq!(newest["contents"], plain["contents"]);
        assert_eq!((&newest["ttlMs"], &newest["cacheScope"]), (&json!(0), &json!("private")));
    }

    #[test]
    fn contents_with_broken_fields_are_a_breach() {
        let data = ResourceData::Text(String::new());
        let extra = Some(r#"{"_meta":[]}"#.to_owned());
        let broken = [ResourceContents { uri: "n:a".into(), mime_type: None, data, extra }];
        assert!(ReadView::new(&broken, &UiGrant::default()).is_err());
    }

    #[test]
    fn contents_that_ask_for_more_than_is_granted_are_a_breach() {
        let ui =
            json!({ "csp": { "connectDomains": ["https://evil.test"] }, "permissions": { "camera": {} } });
        let extra = json!({ "_meta": { "ui": ui } }).to_string();
        let data = ResourceData::Text("<p>".into());
        let app = [ResourceContents { uri: "n:a".into(), mime_type: None, data, extra: Some(extra) }];
        let fault = ReadView::new(&app, &UiGrant::default()).err().unwrap();
        assert!(fault.starts_with("it connects to https://evil.test and uses camera"), "{fault}");
        let granted = [(UiReach::Connect, "https://evil.test"), (UiReach::Permission, "camera")];
        let granted = UiGrant(granted.map(|(reach, text)| (reach, text.to_owned())).into());
        assert!(ReadView::new(&app, &granted).is_ok());
    }
}
