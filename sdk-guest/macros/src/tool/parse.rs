//! What the author wrote, checked.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{FnArg, Ident, ItemFn, LitStr, ReturnType, Safety, Signature, Type, Visibility, parse_quote};

use super::options::Options;
use super::parameter::Parameter;
use crate::docs;

/// A function that can be a tool.
pub(crate) struct ToolFunction {
    pub(crate) ident: Ident,
    pub(crate) visibility: Visibility,
    pub(crate) name: LitStr,
    pub(crate) description: String,
    pub(crate) options: Options,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) returns: Type,
}

pub(crate) fn parse(options: TokenStream, function: &ItemFn) -> syn::Result<ToolFunction> {
    let options = Options::parse(options)?;
    check(&function.sig)?;
    let ident = function.sig.ident.clone();
    let description = docs::description(&function.attrs)?.ok_or_else(|| {
        syn::Error::new(
            ident.span(),
            "a tool needs a description for the model; write it as a doc comment (`///`) above the function",
        )
    })?;
    let name = LitStr::new(&ident.unraw().to_string(), ident.span());
    Ok(ToolFunction {
        name: options.name.clone().unwrap_or(name),
        description,
        parameters: parameters(&function.sig)?,
        returns: returns(&function.sig.output)?,
        visibility: function.vis.clone(),
        ident,
        options,
    })
}

/// Refuses functions of a kind that the host cannot call.
fn check(signature: &Signature) -> syn::Result<()> {
    let refuse = |token: &dyn ToTokens, reason| Err(syn::Error::new_spanned(token, reason));
    if let Some(token) = &signature.asyncness {
        return refuse(
            token,
            "a tool is an ordinary function, since the host runs each call by itself; remove `async` and use blocking calls",
        );
    }
    if let Safety::Unsafe(token) = &signature.safety {
        return refuse(
            token,
            "a tool is safe to call with any arguments; move the unsafe code into the body",
        );
    }
    if let Some(abi) = &signature.abi {
        return refuse(abi, "a tool is called by the macro's code and not from C; remove the ABI");
    }
    let generics = &signature.generics;
    if !generics.params.is_empty() || generics.where_clause.is_some() {
        let all = match generics.params.is_empty() {
            true => generics.where_clause.to_token_stream(),
            false => generics.params.to_token_stream(),
        };
        return refuse(&all, "a tool has one set of arguments and so cannot be generic; write the types out");
    }
    match &signature.variadic {
        Some(variadic) => refuse(variadic, "a tool has a fixed list of parameters; take a `Vec` instead"),
        None => Ok(()),
    }
}

fn parameters(signature: &Signature) -> syn::Result<Vec<Parameter>> {
    let parameters = signature.inputs.iter().map(parameter).collect::<syn::Result<Vec<_>>>()?;
    one_call(&parameters)?;
    one_whole(&parameters)?;
    names_differ(&parameters)?;
    Ok(parameters)
}

fn parameter(input: &FnArg) -> syn::Result<Parameter> {
    match input {
        FnArg::Typed(typed) => Parameter::parse(typed),
        FnArg::Receiver(receiver) => Err(syn::Error::new_spanned(
            receiver,
            "a tool is a free function, since every call gets a fresh instance; move it out of the `impl` and remove `self`",
        )),
    }
}

fn one_call(parameters: &[Parameter]) -> syn::Result<()> {
    let mut calls = parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Call(ty) => Some(ty),
        _ => None,
    });
    match calls.nth(1) {
        Some(second) => Err(syn::Error::new_spanned(second, "a tool serves one call; remove this parameter")),
        None => Ok(()),
    }
}

/// Where one parameter takes all arguments, there is no other but the call.
fn one_whole(parameters: &[Parameter]) -> syn::Result<()> {
    let first = parameters.iter().position(|parameter| matches!(parameter, Parameter::Whole(_)));
    let Some(first) = first else { return Ok(()) };
    for (place, parameter) in parameters.iter().enumerate() {
        let ty = match parameter {
            Parameter::Argument(argument) => &argument.ty,
            Parameter::Whole(ty) if place != first => ty,
            _ => continue,
        };
        return Err(syn::Error::new_spanned(
            ty,
            "the parameter with `#[args]` takes all arguments; make this one a field of that struct",
        ));
    }
    Ok(())
}

fn names_differ(parameters: &[Parameter]) -> syn::Result<()> {
    let mut seen = Vec::new();
    for parameter in parameters {
        let Parameter::Argument(argument) = parameter else { continue };
        let name = argument.name.value();
        if seen.contains(&name) {
            let message = format!("another parameter is called `{name}` already; choose another name");
            return Err(syn::Error::new(argument.name.span(), message));
        }
        seen.push(name);
    }
    Ok(())
}

fn returns(output: &ReturnType) -> syn::Result<Type> {
    match output {
        ReturnType::Default => Ok(parse_quote!(())),
        ReturnType::Type(_, ty) => match &**ty {
            Type::Never(_) => Ok(parse_quote!(())),
            Type::ImplTrait(_) => Err(syn::Error::new_spanned(
                ty,
                "a tool's result needs a type that can be named; write the type itself",
            )),
            ty => Ok(ty.clone()),
        },
    }
}
