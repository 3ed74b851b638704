//! Which resources and templates of a plugin hosts take for apps. Nobody can approve the HTML of those that its guest
//! makes itself.

use super::item_list::Item as _;
use super::plugin_entry::PluginEntry;

/// The scheme of apps.
const SCHEME: &str = "ui";

impl PluginEntry {
    /// Whether hosts may show apps of the plugin.
    #[must_use]
    pub fn has_apps(&self) -> bool {
        let ships_apps = self.resources.iter().any(|resource| resource.key().starts_with("ui:"));
        ships_apps || self.guest_apps().next().is_some()
    }

    /// The URIs and templates of the apps that its guest makes itself.
    pub fn guest_apps(&self) -> impl Iterator<Item = &str> {
        let made = self.resources.iter().filter(|resource| resource.file.is_none());
        let resources = made.map(|one| (one.key(), one.resource.mime_type.as_deref()));
        let templates = self.templates.iter().map(|one| (one.key(), one.template.mime_type.as_deref()));
        resources.chain(templates).filter(|(uri, media_type)| is_app(uri, *media_type)).map(|(uri, _)| uri)
    }
}

fn is_app(uri: &str, media_type: Option<&str>) -> bool {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme);
    let is_app_type = |media_type: &str| {
        let written = media_type.to_ascii_lowercase().replace([' ', '\t', '"'], "");
        written.starts_with("text/html") && written.contains("profile=mcp-app")
    };
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME)) || media_type.is_some_and(is_app_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_app_is_known_by_its_scheme_or_its_media_type() {
        for uri in ["ui://v/x.html", "UI://v/x", "ui://v/{+p}", "Ui:x"] {
            assert!(is_app(uri, None), "{uri}");
        }
        for media_type in ["text/html;profile=mcp-app", "Text/HTML; profile=\"mcp-app\""] {
            assert!(is_app("n:a", Some(media_type)), "{media_type}");
        }
        assert!(!is_app("uid:a", None) && !is_app("n:a", Some("text/html")));
    }
}
