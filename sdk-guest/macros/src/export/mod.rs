//! `export!`: the items of a plugin, with a key for each WIT interface.
//!
//! Each key has a file that parses its value and writes its part of the plugin; a plugin exports the interfaces whose
//! keys are there and no others. All parts implement traits for one hidden type, which the bindings export.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Ident, Token};

mod completions;
mod list;
mod prompts;
mod resources;
mod tools;

const KEYS: &str = "`tools: [...]`, `resources: [...]`, `prompts: [...]` and `completions: [...]`";

/// The content of the braces.
#[derive(Default)]
struct Plugin {
    tools: Option<tools::Tools>,
    resources: Option<resources::Resources>,
    prompts: Option<prompts::Prompts>,
    completions: Option<completions::Completions>,
}

/// The plugin's exports.
///
/// # Errors
/// When a key is unknown or occurs twice, or its value is wrong.
pub(crate) fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let plugin = Plugin::parse.parse2(input)?;
    let parts = [
        plugin.tools.map(|tools| tools.expand()),
        plugin.resources.map(|resources| resources.expand()),
        plugin.prompts.map(|prompts| prompts.expand()),
        plugin.completions.map(|completions| completions.expand()),
    ];
    let parts = parts.into_iter().flatten();
    Ok(quote! {
        const _: () = {
            struct __PlugportPlugin;
            #(#parts)*
        };
    })
}

impl Plugin {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut plugin = Self::default();
        if input.is_empty() {
            let message = format!("say what the plugin offers: {KEYS}");
            return Err(syn::Error::new(Span::call_site(), message));
        }
        while !input.is_empty() {
            plugin.section(input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(plugin)
    }

    fn section(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let key: Ident = input.call(key)?;
        match key.to_string().as_str() {
            "tools" => set(&mut self.tools, &key, input),
            "resources" => set(&mut self.resources, &key, input),
            "prompts" => set(&mut self.prompts, &key, input),
            "completions" => set(&mut self.completions, &key, input),
            _ => Err(syn::Error::new(key.span(), format!("`export!` has no such key; it knows {KEYS}"))),
        }
    }
}

fn key(input: ParseStream<'_>) -> syn::Result<Ident> {
    input.parse().map_err(|error| syn::Error::new(error.span(), format!("begin with a key: {KEYS}")))
}

/// Reads `: value` for a key that may occur once.
fn set<T: Parse>(value: &mut Option<T>, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
    if value.is_some() {
        return Err(syn::Error::new(key.span(), "this key stands here twice; make one list of both"));
    }
    input.parse::<Token![:]>()?;
    *value = Some(input.parse()?);
    Ok(())
}
