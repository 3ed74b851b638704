//! The macros of `plugport-sdk`, which re-exports them; use them through it.
//!
//! Each macro first parses the author's code into plain structs and reports every mistake with its position. Then it
//! generates code from these structs, which cannot fail. The generated code is thin: it calls functions of
//! `plugport-sdk`, where they can be read and tested.

use proc_macro::TokenStream;

mod attribute_keys;
mod complete;
mod docs;
mod export;
mod function;
mod limits;
mod own_type;
mod parameter;
mod prompt;
mod resource;
mod text_parameters;
mod tool;

/// Makes a tool of a function.
///
/// The doc comment is the tool's description, the parameters are its arguments, and doc comments on parameters describe
/// those. The function stays unchanged; the macro adds a type of the same name, which `export!` lists.
///
/// Keys: `name = "..."`, `title = "..."`, and the hints `read_only`, `destructive`, `idempotent` and `open_world`, each
/// alone or as `= true` or `= false`. `when = function` decides whether the tool is listed; `input_schema`,
/// `output_schema` and `extra` are JSON that clients get unchanged.
///
/// On parameters: `#[arg(default = EXPR)]`, `#[arg(rename = "...")]`, and `#[args]` for one struct that takes them all.
/// Limits, which the schema has and the server validates: `#[arg(...)]` with `min`, `max`, `above`, `below` and
/// `multiple_of` for numbers, `min_length` and `max_length` for texts, lists and maps, `pattern` and `format` for texts.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    tool::expand(options.into(), function.into()).into()
}

/// Makes a struct or an enum a type for arguments, results and forms: derives `Serialize`, `Deserialize` and
/// `JsonSchema` with the SDK's copies of serde and schemars.
///
/// Attributes `#[serde(...)]` and `#[schemars(...)]` go below it.
#[proc_macro_attribute]
pub fn data(keys: TokenStream, item: TokenStream) -> TokenStream {
    own_type::expand(&keys.into(), item.into()).into()
}

/// Makes a resource of a function: `#[resource("notes://all")]`.
///
/// The doc comment is its description. What the function returns is its content; it may take the call and nothing else.
///
/// Keys: `name`, `title`, `mime_type` and `extra`, each with a text.
#[proc_macro_attribute]
pub fn resource(options: TokenStream, function: TokenStream) -> TokenStream {
    resource::expand(options.into(), function.into()).into()
}

/// Makes many resources of a function: `#[resource_template("notes://{id}")]`.
///
/// Each variable in the braces is a parameter of that name. The keys are those of `#[resource]`, and `list = function`,
/// whose `Vec<ResourceInfo>` tells clients which of the resources there are.
#[proc_macro_attribute]
pub fn resource_template(options: TokenStream, function: TokenStream) -> TokenStream {
    resource::expand_template(options.into(), function.into()).into()
}

/// Makes a prompt of a function.
///
/// The doc comment is its description, the parameters are its arguments, and doc comments on parameters describe those.
/// An argument is required unless it is an `Option` or has a default.
///
/// Keys: `name`, `title`, `when` and `extra`, as for `#[tool]`. On parameters: `#[arg(default = EXPR)]` and
/// `#[arg(rename = "...")]`.
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, function: TokenStream) -> TokenStream {
    prompt::expand(options.into(), function.into()).into()
}

/// Lets a function suggest values: `#[complete(prompt = greet, argument = "language")]`, or
/// `#[complete(template = note, argument = "id")]`.
///
/// The function takes the text typed so far as `&str`, and optionally the other arguments as `&CompletionContext` and
/// the call as `&Call`.
#[proc_macro_attribute]
pub fn complete(options: TokenStream, function: TokenStream) -> TokenStream {
    complete::expand(options.into(), function.into()).into()
}

/// Makes a plugin of the listed items: `export! { tools: [hello, more::goodbye], resources: [notes] }`.
///
/// The keys are `tools`, `resources` (for templates as well), `prompts` and `completions`. Once in a plugin.
#[proc_macro]
pub fn export(input: TokenStream) -> TokenStream {
    export::expand(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
