//! The capabilities that a client declared, as far as its revision has them.
//!
//! They are read once, from `initialize` or from a request's `_meta`, into flags. All other code uses the flags and not
//! the JSON. A client gets only client requests for which it declared the capability. The names of extensions are for
//! guests alone, so they are read where a guest is told about its client, and not with the flags of every request.

use serde_json::value::RawValue;

use super::super::error::RpcError;
use super::super::revision::Revision;
use crate::json::{for_each_field, raw_fields};

/// Maximum length of the JSON text, in bytes. MCP has a few hundred.
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

    /// Parses the MCP type `ClientCapabilities`. A capability that is not an object counts as not declared. Every
    /// stateless request brings them, so no tree is made of them.
    pub(crate) fn read(capabilities: Option<&RawValue>, revision: Revision) -> Self {
        let names = ["sampling", "elicitation", "roots", "extensions"];
        let [sampling, elicitation, roots, extensions] = objects_in(capabilities, names);
        let [sampling_tools] = objects_in(sampling, ["tools"]);
        let elicitation = elicitation.filter(|_| revision.has_elicitation());
        let [form, url] = objects_in(elicitation, ["form", "url"]);
        let url = url.filter(|_| revision.has_url_elicitation());
        let [tasks] = objects_in(extensions, [TASKS]);
        Self {
            sampling: sampling.is_some(),
            sampling_tools: revision.has_sampling_tools() && sampling_tools.is_some(),
            // An empty object stands for forms, the only mode of the first revision with elicitation.
            elicitation_form: elicitation.is_some() && (form.is_some() || url.is_none()),
            elicitation_url: url.is_some(),
            roots: roots.is_some(),
            extensions: extensions.is_some(),
            tasks: revision.has_tasks_extension() && tasks.is_some(),
        }
    }

    /// The same, with the names of the extensions in every revision. An extension that is not an object counts as not
    /// declared.
    pub(crate) fn read_with_extensions(
        capabilities: Option<&RawValue>,
        revision: Revision,
    ) -> (Self, Vec<String>) {
        let [extensions] = objects_in(capabilities, ["extensions"]);
        (Self::read(capabilities, revision), extensions.map_or_else(Vec::new, extension_names))
    }
}

fn extension_names(extensions: &RawValue) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for_each_field(extensions, |name, settings| {
        // The last of several fields of one name counts.
        names.retain(|other| *other != name);
        if is_object(settings) && name.len() <= EXTENSION_BYTES && names.len() < MAX_EXTENSIONS {
            names.push(name.into_owned());
        }
    });
    names
}

/// The values of the fields with these names, if they and what they are in are objects.
fn objects_in<'a, const N: usize>(
    object: Option<&'a RawValue>,
    names: [&str; N],
) -> [Option<&'a RawValue>; N] {
    let object = object.filter(|object| is_object(object));
    let fields = object.map_or([None; N], |object| raw_fields(object, names));
    fields.map(|field| field.filter(|field| is_object(field)))
}

fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
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
    fn the_last_of_a_name_counts_and_what_no_tree_can_hold_hides_nothing() {
        let odd = r#"{"roots":{},"roots":1,"extensions":{"x":1,"io.modelcontextprotocol/tasks":{},"x":{"a":1e999}}}"#;
        let raw = RawValue::from_string(odd.to_owned()).unwrap();
        let (flags, names) = ClientCapabilities::read_with_extensions(Some(&raw), Revision::V2026_07_28);
        assert_eq!(flags, read(odd, Revision::V2026_07_28));
        assert!(flags.tasks && flags.extensions && !flags.roots);
        assert_eq!(names, [TASKS, "x"]);
    }

    #[test]
    fn what_is_not_an_object_is_not_declared() {
        let odd = r#"{"sampling":true,"elicitation":null,"roots":[]}"#;
        assert_eq!(read(odd, Revision::V2026_07_28), ClientCapabilities::default());
        assert_eq!(ClientCapabilities::read(None, Revision::V2024_11_05), ClientCapabilities::default());
    }
}
