//! What a client declared that it can do for a server, as far as its revision has it.
//!
//! Read once, from `initialize` or from a request's own `_meta`, into plain facts: nothing after this looks at the
//! client's capabilities as JSON, and nothing is asked of a client that did not offer it.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::error::RpcError;
use super::super::revision::Revision;

/// Longest text, bytes. As a tree it takes many times as much, for a moment.
const LONGEST: usize = 64 << 10;

/// The facts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ClientCapabilities {
    pub(crate) sampling: bool,
    pub(crate) sampling_tools: bool,
    pub(crate) elicitation_form: bool,
    pub(crate) elicitation_url: bool,
    pub(crate) roots: bool,
}

impl ClientCapabilities {
    /// A client that can do everything.
    #[cfg(test)]
    pub(crate) const ALL: Self = Self {
        sampling: true,
        sampling_tools: true,
        elicitation_form: true,
        elicitation_url: true,
        roots: true,
    };

    /// Whether it can do this at all, by the name that a capability has.
    pub(crate) fn has(self, capability: &str) -> bool {
        match capability {
            "sampling" => self.sampling,
            "elicitation" => self.elicitation_form,
            "elicitation.url" => self.elicitation_url,
            "roots" => self.roots,
            _ => false,
        }
    }

    /// Whether capabilities are short enough to be read.
    ///
    /// # Errors
    /// When they are not.
    pub(crate) fn check(capabilities: Option<&RawValue>) -> Result<(), RpcError> {
        if capabilities.is_some_and(|text| text.get().len() > LONGEST) {
            let why = format!("the client's capabilities take more than {} KiB", LONGEST >> 10);
            return Err(RpcError::invalid_meta(&why));
        }
        Ok(())
    }

    /// Reads `ClientCapabilities`. What is not an object is not declared.
    pub(crate) fn read(capabilities: Option<&RawValue>, revision: Revision) -> Self {
        let text = capabilities.map_or("{}", RawValue::get);
        if text == "{}" {
            return Self::default();
        }
        let declared: Value = serde_json::from_str(text).unwrap_or_default();
        let has = |value: &Value, name: &str| value.get(name).is_some_and(Value::is_object);
        let sampling = has(&declared, "sampling");
        let elicitation = declared.get("elicitation").filter(|value| value.is_object());
        let elicitation = elicitation.filter(|_| revision.has_elicitation());
        let url = elicitation.is_some_and(|modes| revision.has_url_elicitation() && has(modes, "url"));
        Self {
            sampling,
            sampling_tools: revision.has_sampling_tools()
                && declared.get("sampling").is_some_and(|sampling| has(sampling, "tools")),
            // An empty object means forms, the only mode there was at first.
            elicitation_form: elicitation.is_some_and(|modes| has(modes, "form") || !url),
            elicitation_url: url,
            roots: has(&declared, "roots"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, revision: Revision) -> ClientCapabilities {
        ClientCapabilities::read(Some(&RawValue::from_string(text.to_owned()).unwrap()), revision)
    }

    #[test]
    fn modes_are_read_as_each_revision_means_them() {
        let all =
            r#"{"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true}}"#;
        let newest = read(all, Revision::V2026_07_28);
        assert!(newest.sampling && newest.sampling_tools && newest.roots);
        assert!(newest.elicitation_form && newest.elicitation_url);
        let older = read(all, Revision::V2025_06_18);
        assert!(older.sampling && !older.sampling_tools && older.elicitation_form && !older.elicitation_url);
        assert!(!read(all, Revision::V2025_03_26).elicitation_form);
        assert!(read(r#"{"elicitation":{}}"#, Revision::V2025_11_25).elicitation_form);
        let url = read(r#"{"elicitation":{"url":{}}}"#, Revision::V2025_11_25);
        assert!(!url.elicitation_form && url.elicitation_url);
    }

    #[test]
    fn what_is_not_an_object_is_not_declared() {
        let odd = r#"{"sampling":true,"elicitation":null,"roots":[]}"#;
        assert_eq!(read(odd, Revision::V2026_07_28), ClientCapabilities::default());
        assert_eq!(ClientCapabilities::read(None, Revision::V2024_11_05), ClientCapabilities::default());
    }
}
