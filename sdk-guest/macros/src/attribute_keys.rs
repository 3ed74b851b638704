//! The values of keys in attributes.

use syn::meta::ParseNestedMeta;
use syn::{Expr, LitBool, LitStr, Path, Token};

/// Reads the value of a key that may occur once.
pub(crate) fn set<T>(
    meta: &ParseNestedMeta<'_>,
    value: &mut Option<T>,
    read: fn(&ParseNestedMeta<'_>) -> syn::Result<T>,
) -> syn::Result<()> {
    if value.is_some() {
        return Err(meta.error("this key stands here twice; remove one"));
    }
    *value = Some(read(meta)?);
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
pub(crate) fn flag(meta: &ParseNestedMeta<'_>) -> syn::Result<bool> {
    if !meta.input.peek(Token![=]) {
        return Ok(true);
    }
    let value: syn::Result<LitBool> = meta.value()?.parse();
    value.map(|value| value.value).map_err(|error| {
        syn::Error::new(error.span(), "give this key `true` or `false`, or no value for `true`")
    })
}

/// `key = module::item`.
pub(crate) fn path(meta: &ParseNestedMeta<'_>) -> syn::Result<Path> {
    let wrong = "give this key the name of an item, as in `key = my_function`";
    let value = meta.value().map_err(|_| meta.error(wrong))?;
    value.call(Path::parse_mod_style).map_err(|error| syn::Error::new(error.span(), wrong))
}

/// `key = EXPRESSION`.
pub(crate) fn expression(meta: &ParseNestedMeta<'_>) -> syn::Result<Expr> {
    let wrong = "give this key a text, as in `key = \"text\"` or `key = include_str!(\"file\")`";
    let value = meta.value().map_err(|_| meta.error(wrong))?;
    value.parse().map_err(|error| syn::Error::new(error.span(), wrong))
}

/// `name = "..."`, with the characters and the length that clients accept.
pub(crate) fn name(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let name = string(meta)?;
    let text = name.value();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if text.len() <= 128 && text.chars().all(allowed) {
        return Ok(name);
    }
    Err(syn::Error::new(
        name.span(),
        "a name has at most 128 characters, all of them ASCII letters, digits, `_`, `-` or `.`; choose another",
    ))
}
