//! `tools: [...]`, the interface `tools`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;

use super::list::List;

pub(super) struct Tools(List);

impl Parse for Tools {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.parse().map(Self)
    }
}

impl Tools {
    pub(super) fn expand(&self) -> TokenStream {
        let paths = &self.0.paths;
        let span = paths.first().map_or_else(Span::call_site, Spanned::span);
        let names = quote_spanned! {span=>
            const _: () = ::core::assert!(
                ::plugport_sdk::__private::names_differ(__TOOLS),
                "two tools in this list have the same name; give one of them another with `#[tool(name = \"...\")]`",
            );
        };
        let entries = paths.iter().map(|path| {
            quote_spanned! {path.span()=> ::plugport_sdk::tools::ToolEntry::of(&#path {}) }
        });
        quote! {
            const __TOOLS: &[::plugport_sdk::tools::ToolEntry] = &[#(#entries),*];
            #names

            impl ::plugport_sdk::tools::Tools for __PlugportPlugin {
                fn tools() -> &'static [::plugport_sdk::tools::ToolEntry] {
                    __TOOLS
                }
            }

            #[cfg(target_family = "wasm")]
            ::plugport_sdk::bindings::tools::export!(
                __PlugportPlugin with_types_in ::plugport_sdk::bindings::tools
            );
        }
    }
}
