//! What an app asks for: `_meta.ui` of a resource, as MCP has it, and whether it is granted.
//!
//! Hosts read these fields of whatever a server returns, so they are checked wherever they come from: in the file about
//! an app, and in what a guest lists, reads or embeds.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::grant::{Granted, MAX_ENTRIES, UiReach};
use crate::json::RawObject;

/// `_meta.ui` of an app.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct AppUi {
    /// Written even where it is empty, since then it is certain that the host allows nothing.
    pub(crate) csp: Csp,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) permissions: Permissions,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prefers_border: Option<bool>,
}

/// The domains that an app may reach.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct Csp {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    connect_domains: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_domains: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    frame_domains: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    base_uri_domains: Vec<String>,
}

/// The permissions of the browser that an app uses, by name.
pub(crate) type Permissions = BTreeMap<String, NoSettings>;

/// The settings of a permission, of which there are none.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoSettings {}

/// Why an app may not ask for this.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidUi {
    /// Not as MCP has it, so a host could read more of it than this server does.
    #[error("its `_meta.ui` cannot be used: {0}")]
    Fields(#[from] serde_json::Error),
    /// Neither a domain nor a permission.
    #[error("`{0}` cannot be one of its domains or permissions; {1}")]
    Reach(String, &'static str),
    /// More than a grant can have.
    #[error("it asks for more than {MAX_ENTRIES} domains and permissions, which no grant can have")]
    TooMany,
    /// A host's own field for what `_meta.ui` says.
    #[error("its `_meta` has `{0}`, a field of one host that no grant covers; write `ui.csp` instead")]
    OneHost(&'static str),
    /// Beyond the grant.
    #[error("it {may} and is not granted that; to allow it, write under [plugins.NAME.grants]: {line}")]
    NotGranted {
        /// What of it is not granted, in words.
        may: String,
        /// The line that grants everything that the app needs.
        line: String,
    },
}

impl AppUi {
    /// Checks that everything that the app may reach is granted.
    pub(crate) fn check(&self, granted: &Granted) -> Result<(), InvalidUi> {
        let mut wanted = BTreeSet::new();
        for (reach, text) in self.reach() {
            reach.check(text).map_err(|why| InvalidUi::Reach(text.to_owned(), why))?;
            wanted.insert((reach, text.to_owned()));
            if wanted.len() > MAX_ENTRIES {
                return Err(InvalidUi::TooMany);
            }
        }
        let wanted = Granted(wanted);
        let missing = wanted.without(granted);
        if missing.0.is_empty() {
            return Ok(());
        }
        // The line grants everything that the app needs, since it replaces the line that is there.
        Err(InvalidUi::NotGranted {
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
}

/// Checks the further fields of a resource that a guest lists, reads, links to or embeds.
pub(crate) fn check_fields(fields: &RawObject, granted: &Granted) -> Result<(), InvalidUi> {
    /// serde rejects a second `ui`, so the host reads the one that is checked.
    #[derive(Deserialize)]
    struct Meta<'m> {
        #[serde(borrow, default)]
        ui: Option<&'m RawValue>,
        #[serde(rename = "openai/widgetCSP", borrow, default)]
        widget_csp: Option<&'m RawValue>,
        #[serde(rename = "openai/widgetDomain", borrow, default)]
        widget_domain: Option<&'m RawValue>,
    }
    let Some(meta) = fields.get("_meta") else { return Ok(()) };
    let meta: Meta<'_> = serde_json::from_str(meta.get())?;
    for (field, name) in [(meta.widget_csp, "openai/widgetCSP"), (meta.widget_domain, "openai/widgetDomain")]
    {
        if field.is_some() {
            return Err(InvalidUi::OneHost(name));
        }
    }
    match meta.ui {
        Some(ui) => serde_json::from_str::<AppUi>(ui.get())?.check(granted),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ui(json: &str) -> AppUi {
        serde_json::from_str(json).unwrap()
    }

    fn granted(reach: UiReach, texts: &[&str]) -> Granted {
        Granted(texts.iter().map(|text| (reach, (*text).to_owned())).collect())
    }

    #[test]
    fn what_an_app_may_reach_is_granted_by_the_same_text() {
        let app = ui(
            r#"{"csp":{"connectDomains":["https://a.test","wss://*.b.test"]},"permissions":{"camera":{}}}"#,
        );
        let none = app.check(&Granted::default()).unwrap_err().to_string();
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
        assert!(AppUi::default().check(&Granted::default()).is_ok());
        let many: Vec<String> = (0..=MAX_ENTRIES).map(|n| format!("https://{n}.test")).collect();
        let many = ui(&serde_json::json!({ "csp": { "connectDomains": many } }).to_string());
        assert!(matches!(many.check(&Granted::default()), Err(InvalidUi::TooMany)));
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
            let app = ui(&serde_json::json!({ "csp": { "frameDomains": [domain] } }).to_string());
            let all = granted(UiReach::Frame, &[domain]);
            assert!(matches!(app.check(&all), Err(InvalidUi::Reach(..))), "{domain}");
        }
        let odd = ui(r#"{"permissions":{"usb":{}}}"#);
        assert!(matches!(odd.check(&Granted::default()), Err(InvalidUi::Reach(..))));
    }

    #[test]
    fn a_guest_asks_for_no_more_than_is_granted_however_it_writes_that() {
        let all = granted(UiReach::Connect, &["https://a.test"]);
        let check = |fields: &str| {
            check_fields(&RawObject::parse(fields).unwrap(), &all).map_err(|error| error.to_string())
        };
        for fine in [
            "{}",
            r#"{"_meta":{"a":1}}"#,
            r#"{"_meta":{"ui":null}}"#,
            r#"{"_meta":{"ui":{"prefersBorder":true}}}"#,
            r#"{"_meta":{"ui":{"csp":{"connectDomains":["https://a.test"]}}}}"#,
        ] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
        for bad in [
            r#"{"_meta":{"ui":{"csp":{"connectDomains":["https://evil.test"]}}}}"#,
            r#"{"_meta":{"u\u0069":{"csp":{"connectDomain\u0073":["https://evil.test"]}}}}"#,
            r#"{"_meta":{"ui":{"permissions":{"camera":{}}}}}"#,
            r#"{"_meta":{"ui":{},"ui":{"csp":{"connectDomains":["https://evil.test"]}}}}"#,
            r#"{"_meta":{"ui":{"csp":{"connectDomains":["https://evil.test"]},"csp":{}}}}"#,
            r#"{"_meta":{"ui":{"domain":"evil.test"}}}"#,
            r#"{"_meta":{"openai/widgetCSP":{"connect_domains":["https://evil.test"]}}}"#,
            r#"{"_meta":{"openai/widget\u0044omain":"https://evil.test"}}"#,
            r#"{"_meta":{"ui":{"csp":{"scriptDomains":["https://evil.test"]}}}}"#,
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
