//! `#[tool]`: a function becomes a tool.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemFn;

mod expand;
mod options;

mod parameter;
mod parse;

/// The function, and what makes a tool of it; or the function and the mistakes in it, so that other code that calls it
/// is not reported as well.
pub(crate) fn expand(options: TokenStream, function: TokenStream) -> TokenStream {
    let mut function: ItemFn = match syn::parse2(function) {
        Ok(function) => function,
        Err(error) => {
            let error = syn::Error::new(error.span(), "`#[tool]` goes above a function that has a body");
            return error.into_compile_error();
        }
    };
    let parsed = parse::parse(options, &function);
    parameter::strip(&mut function);
    let addition = match parsed {
        Ok(tool) => expand::write(&tool),
        Err(error) => error.into_compile_error(),
    };
    quote! { #function #addition }
}
