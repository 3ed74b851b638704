//! `#[tool]`: a function becomes a tool.

use proc_macro2::TokenStream;

use crate::function;

mod expand;
mod options;
mod parse;

pub(crate) use expand::{default_of, is_listed};

pub(crate) fn expand(options: TokenStream, function: TokenStream) -> TokenStream {
    function::expand("tool", function, |function| {
        parse::parse(options, function).map(|tool| expand::write(&tool))
    })
}
