//! The interface `resources`: what `#[resource]` and `#[resource_template]` implement and `export!` lists.
//!
//! A fixed resource and a template are one trait, so that one list holds both. The host compares URIs with templates;
//! here a fixed resource is found by its URI and a template by its text. Fixed ones go first, since a template may well
//! match their URIs too.

use serde_json::{Map, Value};

use crate::bindings::request;
use crate::bindings::resources as wit;
use crate::export_entry::ExportEntry;
use crate::tool_error::{Failure, ToolError};
use crate::{Call, Error, logging};

mod contents;

pub use crate::bindings::resources::{MatchedTemplate, ResourceTemplate as ResourceTemplateInfo};
pub use crate::bindings::types::{ResourceContents, ResourceDescriptor as ResourceInfo};
pub use contents::{Contents, IntoContents, Json};

/// The resources that there are.
pub type ListResult = Result<Vec<ResourceInfo>, Error>;

/// What a resource holds.
pub type ReadResult = Result<Vec<ResourceContents>, Error>;

/// A resource, or a template for many. `#[resource]` and `#[resource_template]` implement it for a type that has the
/// function's name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resource; put `#[resource(\"...\")]` or `#[resource_template(\"...\")]` above the function of that name",
    label = "not a resource"
)]
pub trait Resource {
    /// Its URI, or the template of its URIs.
    const URI: &'static str;

    /// The variables of the template.
    const VARIABLES: &'static [&'static str];

    /// Whether there are variables to be found in a URI.
    const IS_TEMPLATE: bool;

    /// The resources that clients are told of.
    ///
    /// # Errors
    /// The list function's own.
    fn list() -> ListResult;

    /// What clients are told of the template.
    fn template() -> Option<ResourceTemplateInfo>;

    /// What the resource of this URI holds, where the URI has these values for the variables of the template.
    ///
    /// # Errors
    /// `NotFound` when the values do not fit the parameters, and the function's own.
    fn read(call: &Call, uri: &str, variables: &[(String, String)]) -> ReadResult;
}

/// One line of the list that `export!` makes.
pub type ResourceEntry = ExportEntry<ResourceFunctions>;

/// What the host can do with a resource.
#[derive(Debug, Clone, Copy)]
pub struct ResourceFunctions {
    is_template: bool,
    list: fn() -> ListResult,
    template: fn() -> Option<ResourceTemplateInfo>,
    read: fn(&Call, &str, &[(String, String)]) -> ReadResult,
}

impl ResourceEntry {
    /// The entry of a resource, which the value names.
    pub const fn of<R: Resource>(_: &R) -> Self {
        Self::new::<R>()
    }

    pub(crate) const fn new<R: Resource>() -> Self {
        let functions = ResourceFunctions {
            is_template: R::IS_TEMPLATE,
            list: R::list,
            template: R::template,
            read: R::read,
        };
        Self { name: R::URI, functions }
    }
}

/// A plugin that has resources. `export!` implements it.
pub trait Resources {
    /// In the order in which clients see them.
    fn resources() -> &'static [ResourceEntry];
}

impl<P: Resources> wit::Guest for P {
    fn list_resources() -> Result<Vec<ResourceInfo>, Error> {
        let mut all = Vec::new();
        for resource in P::resources() {
            all.extend((resource.functions.list)()?);
        }
        Ok(all)
    }

    fn list_resource_templates() -> Result<Vec<ResourceTemplateInfo>, Error> {
        Ok(P::resources().iter().filter_map(|resource| (resource.functions.template)()).collect())
    }

    fn read_resource(call: request::Call, uri: String, template: Option<MatchedTemplate>) -> ReadResult {
        read(P::resources(), &Call::new(call), &uri, template.as_ref())
    }
}

/// Reads the fixed resource of this URI, or else one of the template, with the log bridges on.
pub(crate) fn read(
    resources: &[ResourceEntry],
    call: &Call,
    uri: &str,
    template: Option<&MatchedTemplate>,
) -> ReadResult {
    let find = |name: &str, is_template| {
        resources.iter().find(|it| it.name == name && it.functions.is_template == is_template)
    };
    let templated = || {
        let template = template?;
        Some((find(&template.uri_template, true)?, template.variables.as_slice()))
    };
    let found = find(uri, false).map(|resource| (resource, &[][..])).or_else(templated);
    let (resource, variables) = found.ok_or_else(|| no_such_resource(uri))?;
    let _attached = logging::attach(call);
    (resource.functions.read)(call, uri, variables)
}

/// The error for a URI of no resource.
pub fn no_such_resource(uri: &str) -> Error {
    Error::NotFound(format!("there is no resource `{uri}`"))
}

impl ResourceInfo {
    /// A resource of which only its URI and its name are known.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            annotations: None,
            extra: None,
        }
    }

    /// Adds a name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Says what it holds.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Says of which type it is, such as `text/plain`.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Adds further MCP fields, such as `size`. A later call replaces an earlier one.
    #[must_use]
    pub fn extra(mut self, fields: Map<String, Value>) -> Self {
        self.extra = Some(Value::Object(fields).to_string());
        self
    }
}

/// What a `list = ...` function returns.
#[diagnostic::on_unimplemented(
    message = "a list of resources cannot be `{Self}`; return `Vec<ResourceInfo>` or a `Result` of it",
    label = "not a list of resources"
)]
pub trait IntoListing {
    /// The list.
    ///
    /// # Errors
    /// The function's own.
    fn into_listing(self) -> ListResult;
}

impl IntoListing for Vec<ResourceInfo> {
    fn into_listing(self) -> ListResult {
        Ok(self)
    }
}

impl<E: ToolError> IntoListing for Result<Vec<ResourceInfo>, E> {
    fn into_listing(self) -> ListResult {
        self.map_err(|error| Failure::new(error).into_error())
    }
}

/// What the attribute says. Only for the macro.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct ResourceOptions {
    pub uri: &'static str,
    pub name: &'static str,
    pub title: Option<&'static str>,
    pub description: &'static str,
    pub mime_type: Option<&'static str>,
    pub extra: Option<&'static str>,
}

impl ResourceOptions {
    /// As the description of a resource.
    pub fn resource(self) -> ResourceInfo {
        ResourceInfo {
            uri: self.uri.to_owned(),
            name: self.name.to_owned(),
            title: self.title.map(str::to_owned),
            description: Some(self.description.to_owned()),
            mime_type: self.mime_type.map(str::to_owned),
            annotations: None,
            extra: self.extra.map(str::to_owned),
        }
    }

    /// As the description of a template.
    pub fn template(self) -> ResourceTemplateInfo {
        let ResourceInfo { uri, name, title, description, mime_type, annotations, extra } = self.resource();
        ResourceTemplateInfo { uri_template: uri, name, title, description, mime_type, annotations, extra }
    }
}
