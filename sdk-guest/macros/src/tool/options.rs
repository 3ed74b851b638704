//! The keys in `#[tool(...)]`.

use proc_macro2::TokenStream;
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::{LitBool, LitStr, Token};

/// What the author says of the tool besides its description.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) read_only: Option<bool>,
    pub(crate) destructive: Option<bool>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) open_world: Option<bool>,
}

impl Options {
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Self> {
        let mut options = Self::default();
        syn::meta::parser(|meta| options.key(&meta)).parse2(tokens)?;
        Ok(options)
    }

    fn key(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match key.as_str() {
            "name" => set(meta, &mut self.name, name),
            "title" => set(meta, &mut self.title, string),
            "read_only" => set(meta, &mut self.read_only, flag),
            "destructive" => set(meta, &mut self.destructive, flag),
            "idempotent" => set(meta, &mut self.idempotent, flag),
            "open_world" => set(meta, &mut self.open_world, flag),
            _ => Err(meta.error(
                "`#[tool]` has no such key; it knows `name`, `title`, `read_only`, `destructive`, `idempotent` and `open_world`",
            )),
        }
    }
}

/// Reads the value of a key that may stand once.
pub(crate) fn set<T>(
    meta: &ParseNestedMeta<'_>,
    place: &mut Option<T>,
    read: fn(&ParseNestedMeta<'_>) -> syn::Result<T>,
) -> syn::Result<()> {
    if place.is_some() {
        return Err(meta.error("this key stands here twice; remove one"));
    }
    *place = Some(read(meta)?);
    Ok(())
}

/// `key = "text"`.
pub(crate) fn string(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let wrong = "give this key a text, as in `key = \"text\"`";
    let value = meta.value().map_err(|_| meta.error(wrong))?;
    let text: LitStr = value.parse().map_err(|error| syn::Error::new(error.span(), wrong))?;
    match text.value().trim() {
        "" => Err(syn::Error::new(text.span(), "this text is empty; write one or remove the key")),
        _ => Ok(text),
    }
}

/// `key`, `key = true` or `key = false`.
fn flag(meta: &ParseNestedMeta<'_>) -> syn::Result<bool> {
    if !meta.input.peek(Token![=]) {
        return Ok(true);
    }
    let value: syn::Result<LitBool> = meta.value()?.parse();
    value.map(|value| value.value).map_err(|error| {
        syn::Error::new(error.span(), "give this key `true` or `false`, or no value for `true`")
    })
}

/// `name = "..."`, with the characters and the length that clients accept.
fn name(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let name = string(meta)?;
    let text = name.value();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if text.len() <= 128 && text.chars().all(allowed) {
        return Ok(name);
    }
    Err(syn::Error::new(
        name.span(),
        "a tool's name has at most 128 characters, all of them ASCII letters, digits, `_`, `-` or `.`; choose another",
    ))
}
