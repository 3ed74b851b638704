//! `#[data]`: a type of the author's own becomes one of arguments, results and forms.
//!
//! What serde and schemars derive names their crates, which an author's crate may not have; the SDK's copies need to be
//! named in an attribute for each of the two. This attribute writes the derives with those attributes.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Item;

pub(crate) fn expand(keys: &TokenStream, item: TokenStream) -> TokenStream {
    let error = |error: syn::Error| {
        let error = error.into_compile_error();
        quote! { #item #error }
    };
    if !keys.is_empty() {
        let reason = "`#[data]` has no keys; write `#[serde(...)]` and `#[schemars(...)]` below it";
        return error(syn::Error::new_spanned(keys, reason));
    }
    if !matches!(syn::parse2(item.clone()), Ok(Item::Struct(_) | Item::Enum(_))) {
        let reason = "`#[data]` goes above a struct or an enum";
        let start = item.clone().into_iter().next();
        let span = start.map_or_else(Span::call_site, |token| token.span());
        return error(syn::Error::new(span, reason));
    }
    quote! {
        #[derive(
            ::plugport_sdk::serde::Serialize,
            ::plugport_sdk::serde::Deserialize,
            ::plugport_sdk::schemars::JsonSchema,
        )]
        #[serde(crate = "::plugport_sdk::serde")]
        #[schemars(crate = "::plugport_sdk::schemars")]
        #item
    }
}
