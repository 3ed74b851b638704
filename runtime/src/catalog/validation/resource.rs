//! Resources and resource templates.

use super::super::item_list::ItemDigest;
use super::super::items::{PublishedResource, PublishedTemplate};
use super::super::uri::{self, UriError};
use super::super::uri_template::UriTemplate;
use super::{CommonFields, InvalidItem, annotated, short};
use crate::config::fixed_limits::URI_BYTES;
use crate::config::{UiGrant, check_ui_fields};
use crate::json::RawObject;
use crate::plugin::{Annotations, Plugin, ResourceDescriptor, ResourceTemplate};
use std::sync::{Arc, OnceLock};

impl PublishedResource {
    /// Checks one resource.
    pub(in super::super) fn validate(
        plugin: &Arc<Plugin>,
        resource: ResourceDescriptor,
    ) -> Result<Self, InvalidItem> {
        let extra = Self::check(&resource, &plugin.config().grants.ui)?;
        let (file, digest, approval_digest) = (None, ItemDigest::new(), OnceLock::new());
        Ok(Self { plugin: Arc::clone(plugin), resource, extra, file, digest, approval_digest })
    }

    /// The same without its plugin; its further fields.
    pub(in super::super) fn check(
        resource: &ResourceDescriptor,
        granted: &UiGrant,
    ) -> Result<RawObject, InvalidItem> {
        uri::check(&resource.uri)?;
        let common = CommonFields {
            name: &resource.name,
            title: resource.title.as_deref(),
            description: resource.description.as_deref(),
            extra: resource.extra.as_deref(),
        };
        let extra = common.check()?;
        check_ui_fields(&extra, granted)?;
        listable(&resource.name, resource.mime_type.as_deref(), resource.annotations.as_ref())?;
        Ok(extra)
    }
}

impl PublishedTemplate {
    /// Checks one template.
    pub(in super::super) fn validate(
        plugin: &Arc<Plugin>,
        template: ResourceTemplate,
    ) -> Result<Self, InvalidItem> {
        let (pattern, extra) = Self::check(&template, &plugin.config().grants.ui)?;
        Ok(Self { plugin: Arc::clone(plugin), template, pattern, extra, digest: ItemDigest::new() })
    }

    /// The same without its plugin; its pattern and further fields.
    pub(in super::super) fn check(
        template: &ResourceTemplate,
        granted: &UiGrant,
    ) -> Result<(UriTemplate, RawObject), InvalidItem> {
        if template.uri_template.len() > URI_BYTES {
            return Err(UriError::TooLong.into());
        }
        let pattern = UriTemplate::parse(&template.uri_template, URI_BYTES)?;
        let common = CommonFields {
            name: &template.name,
            title: template.title.as_deref(),
            description: template.description.as_deref(),
            extra: template.extra.as_deref(),
        };
        let extra = common.check()?;
        check_ui_fields(&extra, granted)?;
        listable(&template.name, template.mime_type.as_deref(), template.annotations.as_ref())?;
        Ok((pattern, extra))
    }
}

fn listable(
    name: &str,
    mime_type: Option<&str>,
    annotations: Option<&Annotations>,
) -> Result<(), InvalidItem> {
    if name.is_empty() {
        return Err(InvalidItem::Nameless);
    }
    short("media type", mime_type)?;
    annotated(annotations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_has_a_name_and_short_readable_types() {
        assert!(listable("n", Some("text/plain"), None).is_ok());
        assert!(matches!(listable("", None, None), Err(InvalidItem::Nameless)));
        let hidden = listable("n", Some("text/\u{200b}plain"), None);
        assert!(matches!(hidden, Err(InvalidItem::Deceptive { field: "media type", .. })));
        let when = Annotations { audience: Vec::new(), priority: None, last_modified: Some("x".repeat(300)) };
        assert!(matches!(listable("n", None, Some(&when)), Err(InvalidItem::NotShort("last-modified"))));
    }
}
