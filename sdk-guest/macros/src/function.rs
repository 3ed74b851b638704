//! The rules for functions that become items of a plugin.
//!
//! The host calls all such functions in the same way, so they follow the same rules. Only the kind of item in error
//! messages differs.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{
    FnArg, Ident, ItemFn, LitStr, PatType, ReturnType, Safety, Signature, Type, Visibility, parse_quote,
};

use crate::docs;
use crate::parameter::{self, Parameter};

/// The parts that all such functions have.
pub(crate) struct Function {
    pub(crate) ident: Ident,
    pub(crate) visibility: Visibility,
    pub(crate) returns: Type,
    is_async: bool,
}

impl Function {
    /// Rejects functions that the host cannot call. `what` is the kind of item, such as `a tool`.
    pub(crate) fn parse(function: &ItemFn, what: &str) -> syn::Result<Self> {
        check(&function.sig, what)?;
        Ok(Self {
            ident: function.sig.ident.clone(),
            visibility: function.vis.clone(),
            returns: returns(&function.sig.output, what)?,
            is_async: function.sig.asyncness.is_some(),
        })
    }

    /// Calls the author's function, in a function that may fail with the SDK's error. An `async fn` runs to its end.
    pub(crate) fn call(&self, passed: &[TokenStream]) -> TokenStream {
        let ident = &self.ident;
        match self.is_async {
            true => quote! { ::plugport_sdk::__private::run(#ident(#(#passed),*))? },
            false => quote! { #ident(#(#passed),*) },
        }
    }

    /// The function's name as a text.
    pub(crate) fn name(&self) -> LitStr {
        LitStr::new(&self.ident.unraw().to_string(), self.ident.span())
    }

    /// The description, which is required.
    pub(crate) fn description(&self, function: &ItemFn, what: &str) -> syn::Result<String> {
        docs::description(&function.attrs)?.ok_or_else(|| {
            let message = format!(
                "{what} needs a description for the model; write it as a doc comment (`///`) above the function"
            );
            syn::Error::new(self.ident.span(), message)
        })
    }

    /// The type of the function's name, and its implementations.
    pub(crate) fn item(&self, doc: &str, implementation: &TokenStream) -> TokenStream {
        let Self { ident, visibility, .. } = self;
        quote! {
            #[doc = #doc]
            #[allow(non_camel_case_types, reason = "written by the macro")]
            #visibility struct #ident {}

            const _: () = {
                #implementation
            };
        }
    }
}

/// The function with the code made for it, or with its errors. The function itself is always in the output, so that the
/// compiler does not report the code that calls it as well.
pub(crate) fn expand(
    attribute: &str,
    function: TokenStream,
    make: impl FnOnce(&ItemFn) -> syn::Result<TokenStream>,
) -> TokenStream {
    let mut function: ItemFn = match syn::parse2(function) {
        Ok(function) => function,
        Err(error) => {
            let message = format!("`#[{attribute}]` goes above a function that has a body");
            return syn::Error::new(error.span(), message).into_compile_error();
        }
    };
    let addition = make(&function).unwrap_or_else(syn::Error::into_compile_error);
    parameter::strip(&mut function);
    quote! { #function #addition }
}

fn check(signature: &Signature, what: &str) -> syn::Result<()> {
    let reject =
        |token: &dyn ToTokens, reason: &str| Err(syn::Error::new_spanned(token, format!("{what} {reason}")));
    if let Safety::Unsafe(token) = &signature.safety {
        return reject(token, "is safe to call with any arguments; move the unsafe code into the body");
    }
    if let Some(abi) = &signature.abi {
        return reject(abi, "is called by the macro's code and not from C; remove the ABI");
    }
    let generics = &signature.generics;
    if !generics.params.is_empty() || generics.where_clause.is_some() {
        let all = match generics.params.is_empty() {
            true => generics.where_clause.to_token_stream(),
            false => generics.params.to_token_stream(),
        };
        return reject(&all, "has one set of arguments and so cannot be generic; write the types out");
    }
    match &signature.variadic {
        Some(variadic) => reject(variadic, "has a fixed list of parameters; take a `Vec` instead"),
        None => Ok(()),
    }
}

/// The parameters of a function that is not a method.
pub(crate) fn typed<'f>(signature: &'f Signature, what: &str) -> syn::Result<Vec<&'f PatType>> {
    let typed = signature.inputs.iter().map(|input| match input {
        FnArg::Typed(typed) => Ok(typed),
        FnArg::Receiver(receiver) => Err(syn::Error::new_spanned(
            receiver,
            format!(
                "{what} is a free function, since every call gets a fresh instance; move it out of the `impl` and remove `self`"
            ),
        )),
    });
    typed.collect()
}

/// The parameters, each of which is an argument, the call, or all arguments at once.
pub(crate) fn parameters(signature: &Signature, what: &str) -> syn::Result<Vec<Parameter>> {
    let typed = typed(signature, what)?;
    let parameters = typed.into_iter().map(Parameter::parse).collect::<syn::Result<Vec<_>>>()?;
    one_call(&parameters, what)?;
    names_differ(&parameters)?;
    Ok(parameters)
}

fn one_call(parameters: &[Parameter], what: &str) -> syn::Result<()> {
    let mut calls = parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Call(ty) => Some(ty),
        _ => None,
    });
    match calls.nth(1) {
        Some(second) => {
            Err(syn::Error::new_spanned(second, format!("{what} serves one call; remove this parameter")))
        }
        None => Ok(()),
    }
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

fn returns(output: &ReturnType, what: &str) -> syn::Result<Type> {
    match output {
        ReturnType::Default => Ok(parse_quote!(())),
        ReturnType::Type(_, ty) => match &**ty {
            Type::Never(_) => Ok(parse_quote!(())),
            Type::ImplTrait(_) => Err(syn::Error::new_spanned(
                ty,
                format!("the result of {what} needs a type that can be named; write the type itself"),
            )),
            ty => Ok(ty.clone()),
        },
    }
}

/// `Some(value)` or `None`, as code.
pub(crate) fn option<T: ToTokens>(value: Option<&T>) -> TokenStream {
    match value {
        Some(value) => quote! { ::core::option::Option::Some(#value) },
        None => quote! { ::core::option::Option::None },
    }
}
