//! The text and the keys in `#[resource(...)]` and `#[resource_template(...)]`.

use proc_macro2::TokenStream;
use syn::meta::ParseNestedMeta;
use syn::parse::{ParseStream, Parser};
use syn::{Expr, LitStr, Path, Token};

use crate::attribute_keys::{expression, path, set, string};

/// The values of the attribute's keys.
pub(super) struct Options {
    pub(super) uri: LitStr,
    pub(super) name: Option<LitStr>,
    pub(super) title: Option<LitStr>,
    pub(super) mime_type: Option<LitStr>,
    pub(super) list: Option<Path>,
    pub(super) extra: Option<Expr>,
}

pub(super) fn parse(tokens: TokenStream, attribute: &str) -> syn::Result<Options> {
    let read = |input: ParseStream<'_>| {
        let uri: LitStr = input.parse().map_err(|error| {
            let example = if attribute == "resource" { "notes://all" } else { "notes://{id}" };
            let message = format!("begin with a text, as in `#[{attribute}(\"{example}\")]`");
            syn::Error::new(error.span(), message)
        })?;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        Ok((uri, input.parse::<TokenStream>()?))
    };
    let (uri, keys) = read.parse2(tokens)?;
    let mut options = Options { uri, name: None, title: None, mime_type: None, list: None, extra: None };
    syn::meta::parser(|meta| options.key(&meta, attribute)).parse2(keys)?;
    Ok(options)
}

impl Options {
    fn key(&mut self, meta: &ParseNestedMeta<'_>, attribute: &str) -> syn::Result<()> {
        let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match (key.as_str(), attribute) {
            ("name", _) => set(meta, &mut self.name, string),
            ("title", _) => set(meta, &mut self.title, string),
            ("mime_type", _) => set(meta, &mut self.mime_type, string),
            ("extra", _) => set(meta, &mut self.extra, expression),
            ("list", "resource_template") => set(meta, &mut self.list, path),
            (_, "resource_template") => Err(meta.error(
                "`#[resource_template]` has no such key; it knows `name`, `title`, `mime_type`, `list` and `extra`",
            )),
            _ => Err(meta.error(
                "`#[resource]` has no such key; it knows `name`, `title`, `mime_type` and `extra`",
            )),
        }
    }
}

/// Rejects a text that cannot be the URI of one resource.
pub(super) fn check_uri(uri: &LitStr) -> syn::Result<()> {
    let text = uri.value();
    let reject = |reason: &str| Err(syn::Error::new(uri.span(), reason));
    if text.contains(['{', '}']) {
        return reject("a URI has no braces; use `#[resource_template(\"...\")]` for many resources");
    }
    check_shape(&text).map_or(Ok(()), reject)
}

/// The mistake in a URI or a template, if there is one.
pub(super) fn check_shape(text: &str) -> Option<&'static str> {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let good = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    if !scheme.is_some_and(good) {
        return Some("a URI begins with a scheme, as in `notes://all`; put one before this");
    }
    let odd = text.chars().any(|c| c.is_whitespace() || c.is_control());
    odd.then_some("a URI has no spaces; write `%20` for one")
}
