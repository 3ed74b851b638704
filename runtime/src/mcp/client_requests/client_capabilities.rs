//! The capabilities that a client declared, as far as its revision has them.
//!
//! They are read once, from `initialize` or from a request's `_meta`, into flags. All other code uses the flags and not
//! the JSON. A client gets only client requests for which it declared the capability. The names of extensions are for
//! guests alone, so they are read where a guest is told about its client, and not with the flags of every request.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::error::RpcError;
use super::super::revision::Revision;

/// Maximum length of the JSON text, in bytes. The parsed tree temporarily takes many times as much.
const MAX_BYTES: usize = 64 << 10;

/// How many extensions of one client a guest is told: a session keeps their names until it ends, and MCP has a few.
const MAX_EXTENSIONS: usize = 32;

/// Maximum length of such a name, in bytes: one is a reversed domain with a word. A longer one is left out, since what
/// is left of it might be another's name.
const EXTENSION_BYTES: usize = 128;

/// The name of the extension for tasks.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// One flag for each capability.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ClientCapabilities {
    pub(crate) sampling: bool,
    pub(crate) sampling_tools: bool,
    pub(crate) elicitation_form: bool,
    pub(crate) elicitation_url: bool,
    pub(crate) roots: bool,
    /// Whether it declared any extension.
    pub(crate) extensions: bool,
    /// The extension `io.modelcontextprotocol/tasks`.
    pub(crate) tasks: bool,
}

impl ClientCapabilities {
    /// A client with all capabilities.
    #[cfg(test)]
    pub(crate) const ALL: Self = Self {
        sampling: true,
        sampling_tools: true,
        elicitation_form: true,
        elicitation_url: true,
        roots: true,
        extensions: true,
        tasks: true,
    };

    /// Whether the client declared a capability. `capability` is a name that `InputRequest::capability` returns.
    pub(crate) fn has(self, capability: &str) -> bool {
        match capability {
            "sampling" => self.sampling,
            "elicitation" => self.elicitation_form,
            "elicitation.url" => self.elicitation_url,
            "roots" => self.roots,
            _ => false,
        }
    }

    /// Checks that the capabilities are short enough to be parsed.
    ///
    /// # Errors
    /// When they are too long.
    pub(crate) fn check(capabilities: Option<&RawValue>) -> Result<(), RpcError> {
        if capabilities.is_some_and(|text| text.get().len() > MAX_BYTES) {
            let why = format!("the client's capabilities take more than {} KiB", MAX_BYTES >> 10);
            return Err(RpcError::invalid_meta(&why));
        }
        Ok(())
    }

    /// Parses the MCP type `ClientCapabilities`. A capability that is not an object counts as not declared.
    pub(crate) fn read(capabilities: Option<&RawValue>, revision: Revision) -> Self {
        declared(capabilities).map_or_else(Self::default, |declared| Self::of(&declared, revision))
    }

    /// The same, with the names of the extensions in every revision. An extension that is not an object counts as not
    /// declared.
    pub(crate) fn read_with_extensions(
        capabilities: Option<&RawValue>,
        revision: Revision,
    ) -> (Self, Vec<String>) {
        let Some(declared) = declared(capabilities) else { return Default::default() };
        let extensions = declared.get("extensions").and_then(Value::as_object);
        let names = extensions.into_iter().flatten().filter(|(_, settings)| settings.is_object());
        let names = names.map(|(name, _)| name).filter(|name| name.len() <= EXTENSION_BYTES);
        (Self::of(&declared, revision), names.take(MAX_EXTENSIONS).cloned().collect())
    }

    fn of(declared: &Value, revision: Revision) -> Self {
        let has = |value: &Value, name: &str| value.get(name).is_some_and(Value::is_object);
        let sampling = has(declared, "sampling");
        let elicitation = declared.get("elicitation").filter(|value| value.is_object());
        let elicitation = elicitation.filter(|_| revision.has_elicitation());
        let url = elicitation.is_some_and(|modes| revision.has_url_elicitation() && has(modes, "url"));
        Self {
            sampling,
            sampling_tools: revision.has_sampling_tools()
                && declared.get("sampling").is_some_and(|sampling| has(sampling, "tools")),
            // An empty object stands for forms, the only mode of the first revision with elicitation.
            elicitation_form: elicitation.is_some_and(|modes| has(modes, "form") || !url),
            elicitation_url: url,
            roots: has(declared, "roots"),
            extensions: has(declared, "extensions"),
            tasks: revision.has_tasks_extension()
                && declared.get("extensions").is_some_and(|extensions| has(extensions, TASKS)),
        }
    }
}

/// What a client declared; `None` for nothing, the usual case, which allocates nothing.
fn declared(capabilities: Option<&RawValue>) -> Option<Value> {
    let text = capabilities.map_or("{}", RawValue::get);
    if text == "{}" { None } else { Some(serde_json::from_str(text).unwrap_or_default()) }
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
    fn an_extension_is_declared_by_its_name_in_revisions_with_extensions() {
        let declared = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
        assert!(read(declared, Revision::V2026_07_28).tasks && !read(declared, Revision::V2025_11_25).tasks);
        for odd in [r#"{"extensions":{"io.modelcontextprotocol/tasks":true}}"#, r#"{"tasks":{}}"#] {
            assert!(!read(odd, Revision::V2026_07_28).tasks, "{odd}");
        }
    }

    #[test]
    fn extensions_are_named_in_every_revision_and_bounded() {
        let names = |text: &str, revision| {
            let raw = RawValue::from_string(text.to_owned()).unwrap();
            ClientCapabilities::read_with_extensions(Some(&raw), revision).1
        };
        let some =
            r#"{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":[]},"com.example/x":{},"odd":true}}"#;
        for revision in [Revision::V2026_07_28, Revision::V2025_06_18, Revision::V2024_11_05] {
            assert_eq!(names(some, revision), ["io.modelcontextprotocol/ui", "com.example/x"]);
        }
        for none in ["{}", r#"{"extensions":{}}"#, r#"{"extensions":["a"]}"#, r#"{"sampling":{}}"#] {
            assert_eq!(names(none, Revision::V2026_07_28), [""; 0], "{none}");
        }
        let many: Vec<_> = (0..1_000).map(|number| format!("\"{number}\":{{}}")).collect();
        let many =
            format!(r#"{{"extensions":{{"{}":{{}},{}}}}}"#, "x".repeat(EXTENSION_BYTES + 1), many.join(","));
        let kept = names(&many, Revision::V2026_07_28);
        assert_eq!((kept.len(), kept[0].as_str()), (MAX_EXTENSIONS, "0"));
    }

    #[test]
    fn what_is_not_an_object_is_not_declared() {
        let odd = r#"{"sampling":true,"elicitation":null,"roots":[]}"#;
        assert_eq!(read(odd, Revision::V2026_07_28), ClientCapabilities::default());
        assert_eq!(ClientCapabilities::read(None, Revision::V2024_11_05), ClientCapabilities::default());
    }
}
