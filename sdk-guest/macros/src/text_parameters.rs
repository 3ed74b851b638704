//! Parameters that are read from texts: the arguments of a prompt and the variables of a template.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::parameter::{Argument, Parameter};
use crate::tool::default_of;

/// The parameters that are neither the call nor all arguments at once.
pub(crate) fn arguments(parameters: &[Parameter], what: &str) -> syn::Result<Vec<Argument>> {
    let mut arguments = Vec::new();
    for parameter in parameters {
        match parameter {
            Parameter::Call(_) => {}
            Parameter::Argument(argument) => {
                argument.limits.reject(&format!(
                    "{what} has no schema for a limit; check the value in the function, and remove this key"
                ))?;
                arguments.push((**argument).clone());
            }
            Parameter::AllArguments(ty) => {
                let message = format!("`#[args]` is for tools; {what} has a parameter for each argument");
                return Err(syn::Error::new_spanned(ty, message));
            }
        }
    }
    Ok(arguments)
}

/// The variable, which knows its type.
pub(crate) fn variable(argument: &Argument) -> TokenStream {
    let Argument { name, ty, .. } = argument;
    quote_spanned! {ty.span()=> ::plugport_sdk::__private::Variable::<#ty>::new(#name) }
}

/// Whether a caller must give the argument.
pub(crate) fn required(argument: &Argument) -> TokenStream {
    let variable = variable(argument);
    match argument.default {
        Some(_) => quote! { false },
        None => quote! { #variable.required() },
    }
}

/// The value in `__values`, as a `Result`.
pub(crate) fn take(argument: &Argument) -> TokenStream {
    let ty = &argument.ty;
    let variable = variable(argument);
    let default = argument.default.as_ref().map(|default| {
        let value = default_of(default, ty);
        quote_spanned! {ty.span()=> .or_else(|__unusable| __unusable.or(|| #value)) }
    });
    quote_spanned! {ty.span()=> #variable.take(&__values) #default }
}

/// The name of the local variable that holds the n-th argument.
pub(crate) fn local(n: usize) -> syn::Ident {
    format_ident!("__value_{n}")
}

/// What is passed to the function: the call, and the local variables in order.
pub(crate) fn passed(parameters: &[Parameter]) -> Vec<TokenStream> {
    let mut count = 0..;
    let passed = parameters.iter().map(|parameter| match parameter {
        Parameter::Call(_) => quote! { __call },
        Parameter::Argument(_) | Parameter::AllArguments(_) => {
            let local = local(count.next().unwrap_or_default());
            quote! { #local }
        }
    });
    passed.collect()
}
