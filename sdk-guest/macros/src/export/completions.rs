//! `completions: [...]`, the interface `completions`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;

use super::list::List;

pub(super) struct Completions(List);

impl Parse for Completions {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.parse().map(Self)
    }
}

impl Completions {
    pub(super) fn expand(&self) -> TokenStream {
        let paths = &self.0.paths;
        let span = paths.first().map_or_else(Span::call_site, Spanned::span);
        let arguments = quote_spanned! {span=>
            const _: () = ::core::assert!(
                ::plugport_sdk::__private::arguments_differ(__COMPLETERS),
                "two completions in this list are for the same argument; remove one",
            );
        };
        let entries = paths.iter().map(|path| {
            quote_spanned! {path.span()=> ::plugport_sdk::completions::CompleterEntry::of(&#path {}) }
        });
        quote! {
            const __COMPLETERS: &[::plugport_sdk::completions::CompleterEntry] = &[#(#entries),*];
            #arguments

            impl ::plugport_sdk::completions::Completers for __PlugportPlugin {
                fn completers() -> &'static [::plugport_sdk::completions::CompleterEntry] {
                    __COMPLETERS
                }
            }

            #[cfg(target_family = "wasm")]
            ::plugport_sdk::bindings::completions::export!(
                __PlugportPlugin with_types_in ::plugport_sdk::bindings::completions
            );
        }
    }
}
