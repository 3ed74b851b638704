//! The macros of `plugport-sdk`, which re-exports them; use them through it.
//!
//! Each macro first parses what the author wrote into plain structs, where every mistake is found and pointed at, and
//! then writes code from those, where nothing can go wrong any more. The code that is written is thin: what it calls
//! lives in `plugport-sdk`, where it can be read and tested.

use proc_macro::TokenStream;

mod docs;
mod export;
mod tool;

/// Makes a tool of a function.
///
/// The doc comment is the tool's description, the parameters are its arguments, and doc comments on parameters describe
/// those. The function stays as it is; beside it stands a type of the same name, which `export!` lists.
///
/// Keys: `name = "..."`, `title = "..."`, and the hints `read_only`, `destructive`, `idempotent` and `open_world`, each
/// alone or as `= true` or `= false`.
///
/// On parameters: `#[arg(default = EXPR)]`, `#[arg(rename = "...")]`, and `#[args]` for one struct that takes them all.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    tool::expand(options.into(), function.into()).into()
}

/// Makes a plugin of what it lists: `export! { tools: [hello, more::goodbye] }`.
///
/// Once in a plugin.
#[proc_macro]
pub fn export(input: TokenStream) -> TokenStream {
    export::expand(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
