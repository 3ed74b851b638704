//! `[a, module::b]`: paths to items that macros made, each once.

use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::token::Bracket;
use syn::{Path, Token, bracketed};

pub(super) struct List {
    pub(super) paths: Vec<Path>,
}

impl Parse for List {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if !input.peek(Bracket) {
            return Err(input.error("write a list in brackets, as in `[first, second]`"));
        }
        let content;
        let brackets = bracketed!(content in input);
        let paths = Punctuated::<Path, Token![,]>::parse_terminated_with(&content, Path::parse_mod_style)?;
        if paths.is_empty() {
            let message = "this list is empty; name what the plugin offers or remove the key";
            return Err(syn::Error::new(brackets.span.join(), message));
        }
        let paths: Vec<Path> = paths.into_iter().collect();
        each_once(&paths)?;
        Ok(Self { paths })
    }
}

fn each_once(paths: &[Path]) -> syn::Result<()> {
    let mut seen = Vec::new();
    for path in paths {
        let name = path.to_token_stream().to_string().replace(' ', "");
        if seen.contains(&name) {
            let message = format!("`{name}` is in this list already; remove it here");
            return Err(syn::Error::new_spanned(path, message));
        }
        seen.push(name);
    }
    Ok(())
}
