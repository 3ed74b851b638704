//! `resources: [...]`, the interface `resources`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;

use super::list::List;

pub(super) struct Resources(List);

impl Parse for Resources {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.parse().map(Self)
    }
}

impl Resources {
    pub(super) fn expand(&self) -> TokenStream {
        let paths = &self.0.paths;
        let span = paths.first().map_or_else(Span::call_site, Spanned::span);
        let names = quote_spanned! {span=>
            const _: () = ::core::assert!(
                ::plugport_sdk::__private::names_differ(__RESOURCES),
                "two resources in this list have the same URI; give one of them another",
            );
        };
        let entries = paths.iter().map(|path| {
            quote_spanned! {path.span()=> ::plugport_sdk::resources::ResourceEntry::of(&#path {}) }
        });
        quote! {
            const __RESOURCES: &[::plugport_sdk::resources::ResourceEntry] = &[#(#entries),*];
            #names

            impl ::plugport_sdk::resources::Resources for __PlugportPlugin {
                fn resources() -> &'static [::plugport_sdk::resources::ResourceEntry] {
                    __RESOURCES
                }
            }

            #[cfg(target_family = "wasm")]
            ::plugport_sdk::bindings::resources::export!(
                __PlugportPlugin with_types_in ::plugport_sdk::bindings::resources
            );
        }
    }
}
