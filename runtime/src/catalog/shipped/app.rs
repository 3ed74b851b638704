//! One app: an HTML file below `ui/`, and what `NAME.meta.json` beside it says.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::config::{UiGrant, UiReach};
use crate::plugin::ShippedFile;

/// Longest file about an app in bytes.
const MAX_META: usize = 16 << 10;

/// How the names of such files end.
pub(super) const META_SUFFIX: &str = ".meta.json";

/// How the names of apps end.
pub(super) const APP_SUFFIX: &str = ".html";

/// What the file about an app says. The names are those of `_meta.ui` in MCP, where it has them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct AppMeta {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    /// The plugin's own names of tools whose results it shows.
    pub(super) tools: Vec<String>,
    csp: Csp,
    permissions: BTreeMap<String, NoSettings>,
    prefers_border: Option<bool>,
}

/// The domains that an app may reach.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct Csp {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    connect_domains: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_domains: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    frame_domains: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    base_uri_domains: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct NoSettings {}

/// `_meta.ui` of an app. It has `csp` even where that is empty, since then it is certain that the host allows nothing.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UiMeta<'a> {
    csp: &'a Csp,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    permissions: &'a BTreeMap<String, NoSettings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefers_border: Option<bool>,
}

#[derive(Serialize)]
struct Meta<'a> {
    ui: UiMeta<'a>,
}

/// The further fields of the resource.
#[derive(Serialize)]
struct Extra<'a> {
    size: usize,
    _meta: Meta<'a>,
}

/// Why an app is not published.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidApp {
    #[error("it is not text in UTF-8")]
    NotText,
    #[error("the file about it has more than {} KiB", MAX_META >> 10)]
    LongMeta,
    #[error("the file about it cannot be used: it is not a JSON object")]
    NoObject,
    #[error("the file about it cannot be used: {0}")]
    Meta(#[from] serde_json::Error),
    #[error("`{0}` cannot be one of its domains or permissions; {1}")]
    Reach(String, &'static str),
    #[error("it {may} and is not granted that; to allow it, write under [plugins.NAME.grants]: {line}")]
    NotGranted { may: String, line: String },
}

impl AppMeta {
    /// Reads the file about an app, if there is one.
    pub(super) fn read(file: Option<&ShippedFile>) -> Result<Self, InvalidApp> {
        let Some(file) = file else { return Ok(Self::default()) };
        if file.size() > MAX_META {
            return Err(InvalidApp::LongMeta);
        }
        let bytes = file.contents.as_bytes();
        // serde would read a list as the fields in their order.
        if !bytes.trim_ascii_start().starts_with(b"{") {
            return Err(InvalidApp::NoObject);
        }
        Ok(serde_json::from_slice(bytes)?)
    }

    /// Checks that everything that the app may reach is granted.
    pub(super) fn check(&self, granted: &UiGrant) -> Result<(), InvalidApp> {
        let mut wanted = BTreeSet::new();
        for (reach, text) in self.reach() {
            reach.check(text).map_err(|why| InvalidApp::Reach(text.to_owned(), why))?;
            wanted.insert((reach, text.to_owned()));
        }
        let wanted = UiGrant(wanted);
        let missing = wanted.without(granted);
        if missing.0.is_empty() {
            return Ok(());
        }
        // The line grants everything that the app needs, since it replaces the line that is there.
        Err(InvalidApp::NotGranted {
            may: missing.in_words().join(" and "),
            line: granted.with(&wanted).line(),
        })
    }

    fn reach(&self) -> impl Iterator<Item = (UiReach, &str)> {
        let Csp { connect_domains, resource_domains, frame_domains, base_uri_domains } = &self.csp;
        let domains = [
            (UiReach::Connect, connect_domains),
            (UiReach::Resource, resource_domains),
            (UiReach::Frame, frame_domains),
            (UiReach::BaseUri, base_uri_domains),
        ];
        let domains = domains
            .into_iter()
            .flat_map(|(reach, domains)| domains.iter().map(move |domain| (reach, domain.as_str())));
        domains.chain(self.permissions.keys().map(|name| (UiReach::Permission, name.as_str())))
    }

    /// The further fields of the resource, as JSON.
    pub(super) fn extra(&self, size: usize) -> Result<String, InvalidApp> {
        let Self { csp, permissions, prefers_border, .. } = self;
        let ui = UiMeta { csp, permissions, prefers_border: *prefers_border };
        Ok(serde_json::to_string(&Extra { size, _meta: Meta { ui } })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(json: &str) -> Result<AppMeta, String> {
        let file = ShippedFile::new("ui/t.meta.json", json.as_bytes());
        AppMeta::read(Some(&file)).map_err(|error| error.to_string())
    }

    fn granted(reach: UiReach, texts: &[&str]) -> UiGrant {
        UiGrant(texts.iter().map(|text| (reach, (*text).to_owned())).collect())
    }

    #[test]
    fn what_an_app_may_reach_is_granted_by_the_same_text() {
        let app = meta(
            r#"{"csp":{"connectDomains":["https://a.test","wss://*.b.test"]},"permissions":{"camera":{}}}"#,
        );
        let app = app.unwrap();
        let none = app.check(&UiGrant::default()).unwrap_err().to_string();
        assert!(
            none.ends_with(
                r#"ui = { connect = ["https://a.test", "wss://*.b.test"], permissions = ["camera"] }"#
            ),
            "{none}"
        );
        let mut all = granted(UiReach::Connect, &["https://a.test", "wss://*.b.test", "https://c.test"]);
        let missing = app.check(&all).unwrap_err().to_string();
        assert!(missing.starts_with("it uses camera and is not granted that"), "{missing}");
        all.0.insert((UiReach::Permission, "camera".to_owned()));
        assert!(app.check(&all).is_ok());
        let other = granted(UiReach::Resource, &["https://a.test", "wss://*.b.test"]);
        assert!(app.check(&other).is_err());
        assert!(AppMeta::default().check(&UiGrant::default()).is_ok());
    }

    #[test]
    fn what_a_host_could_take_for_more_than_a_domain_is_rejected() {
        for domain in [
            "*",
            "https://*",
            "https://a.test; script-src *",
            "a.test",
            "https://a.test/x",
            "data:",
            "https:",
        ] {
            let app = meta(&serde_json::json!({ "csp": { "frameDomains": [domain] } }).to_string()).unwrap();
            let all = granted(UiReach::Frame, &[domain]);
            assert!(matches!(app.check(&all), Err(InvalidApp::Reach(..))), "{domain}");
        }
        let odd = meta(r#"{"permissions":{"usb":{}}}"#).unwrap();
        assert!(matches!(odd.check(&UiGrant::default()), Err(InvalidApp::Reach(..))));
    }

    #[test]
    fn a_file_about_an_app_has_the_fields_that_are_known() {
        for bad in [r#"{"domain":"x"}"#, r#"{"csp":{"x":[]}}"#, "[]", "", r#"{"csp":{},"csp":{}}"#] {
            assert!(meta(bad).unwrap_err().contains("cannot be used"), "{bad}");
        }
        assert!(meta(&" ".repeat(MAX_META + 1)).unwrap_err().contains("more than 16 KiB"));
        let app = meta(r#"{"title":"T","prefersBorder":true,"csp":{"connectDomains":["https://a.test"]}}"#);
        let extra =
            r#"{"size":3,"_meta":{"ui":{"csp":{"connectDomains":["https://a.test"]},"prefersBorder":true}}}"#;
        assert_eq!(app.unwrap().extra(3).unwrap(), extra);
    }
}
