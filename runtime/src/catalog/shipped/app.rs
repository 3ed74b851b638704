//! One app: an HTML file below `ui/`, and what `NAME.meta.json` beside it says.

use serde::{Deserialize, Serialize};

use crate::config::{AppUi, UiCsp, UiPermissions};
use crate::plugin::ShippedFile;

/// Longest file about an app in bytes.
const MAX_META: usize = 16 << 10;

/// Maximum number of tools that such a file names.
const MAX_TOOLS: usize = 64;

/// How the names of such files end.
pub(super) const META_SUFFIX: &str = ".meta.json";

/// How the names of apps end.
pub(super) const APP_SUFFIX: &str = ".html";

/// What the file about an app says.
#[derive(Debug, Default)]
pub(super) struct AppMeta {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    /// The plugin's own names of tools whose results it shows.
    pub(super) tools: Vec<String>,
    pub(super) ui: AppUi,
}

/// The file. The names are those of `_meta.ui` in MCP, where it has them.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct MetaFile {
    title: Option<String>,
    description: Option<String>,
    tools: Vec<String>,
    csp: UiCsp,
    permissions: UiPermissions,
    prefers_border: Option<bool>,
}

#[derive(Serialize)]
struct Meta<'a> {
    ui: &'a AppUi,
}

/// The further fields of the resource.
#[derive(Serialize)]
struct Extra<'a> {
    size: usize,
    _meta: Meta<'a>,
}

/// Why a file about an app, or an app, cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidApp {
    #[error("it is not text in UTF-8")]
    NotText,
    #[error("the file about it has more than {} KiB", MAX_META >> 10)]
    LongMeta,
    #[error("it names more than {MAX_TOOLS} tools; let the tools name it")]
    ManyTools,
    #[error("the file about it cannot be used: it is not a JSON object")]
    NoObject,
    #[error("the file about it cannot be used: {0}")]
    Meta(#[from] serde_json::Error),
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
        let MetaFile { title, description, tools, csp, permissions, prefers_border } =
            serde_json::from_slice(bytes)?;
        if tools.len() > MAX_TOOLS {
            return Err(InvalidApp::ManyTools);
        }
        Ok(Self { title, description, tools, ui: AppUi { csp, permissions, prefers_border } })
    }

    /// The further fields of the resource, as JSON.
    pub(super) fn extra(&self, size: usize) -> Result<String, InvalidApp> {
        Ok(serde_json::to_string(&Extra { size, _meta: Meta { ui: &self.ui } })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(json: &str) -> Result<AppMeta, String> {
        let file = ShippedFile::new("ui/t.meta.json", json.as_bytes());
        AppMeta::read(Some(&file)).map_err(|error| error.to_string())
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
