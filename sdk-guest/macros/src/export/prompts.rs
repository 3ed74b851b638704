//! `prompts: [...]`, the interface `prompts`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;

use super::list::List;

pub(super) struct Prompts(List);

impl Parse for Prompts {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.parse().map(Self)
    }
}

impl Prompts {
    pub(super) fn expand(&self) -> TokenStream {
        let paths = &self.0.paths;
        let span = paths.first().map_or_else(Span::call_site, Spanned::span);
        let names = quote_spanned! {span=>
            const _: () = ::core::assert!(
                ::plugport_sdk::__private::names_differ(__PROMPTS),
                "two prompts in this list have the same name; give one of them another with `#[prompt(name = \"...\")]`",
            );
        };
        let entries = paths.iter().map(|path| {
            quote_spanned! {path.span()=> ::plugport_sdk::prompts::PromptEntry::of(&#path {}) }
        });
        quote! {
            const __PROMPTS: &[::plugport_sdk::prompts::PromptEntry] = &[#(#entries),*];
            #names

            impl ::plugport_sdk::prompts::Prompts for __PlugportPlugin {
                fn prompts() -> &'static [::plugport_sdk::prompts::PromptEntry] {
                    __PROMPTS
                }
            }

            #[cfg(target_family = "wasm")]
            ::plugport_sdk::bindings::prompts::export!(
                __PlugportPlugin with_types_in ::plugport_sdk::bindings::prompts
            );
        }
    }
}
