//! `#[complete(...)]`: a function suggests values for an argument of a prompt or a variable of a template.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{ItemFn, LitStr, Pat, PatType, Path, ReturnType, Signature, Type};

use crate::attribute_keys::{path, set, string};
use crate::function::{self, Function};
use crate::parameter::{self, is_reference};

const WHAT: &str = "a completion";

#[derive(Default)]
struct Options {
    prompt: Option<Path>,
    template: Option<Path>,
    argument: Option<LitStr>,
}

/// The item that has the argument.
enum Target {
    Prompt(Path),
    Template(Path),
}

pub(crate) fn expand(options: TokenStream, function: TokenStream) -> TokenStream {
    function::expand("complete", function, |item| {
        let (target, argument) = Options::parse(options)?;
        write(&target, &argument, item)
    })
}

impl Options {
    fn parse(tokens: TokenStream) -> syn::Result<(Target, LitStr)> {
        let mut options = Self::default();
        let all = tokens.clone();
        syn::meta::parser(|meta| options.key(&meta)).parse2(tokens)?;
        let reject = |message| Err(syn::Error::new_spanned(&all, message));
        let target = match (options.prompt, options.template) {
            (Some(prompt), None) => Target::Prompt(prompt),
            (None, Some(template)) => Target::Template(template),
            _ => return reject("say whose argument this completes: `prompt = ...` or `template = ...`"),
        };
        match options.argument {
            Some(argument) => Ok((target, argument)),
            None => reject("say which argument this completes: `argument = \"...\"`"),
        }
    }

    fn key(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match key.as_str() {
            "prompt" => set(meta, &mut self.prompt, path),
            "template" => set(meta, &mut self.template, path),
            "argument" => set(meta, &mut self.argument, string),
            _ => {
                Err(meta.error("`#[complete]` has no such key; it knows `prompt`, `template` and `argument`"))
            }
        }
    }
}

fn write(target: &Target, argument: &LitStr, item: &ItemFn) -> syn::Result<TokenStream> {
    // What is returned need not have a name, unlike elsewhere.
    let mut named = item.clone();
    named.sig.output = ReturnType::Default;
    let function = Function::parse(&named, WHAT)?;
    let ident = &function.ident;
    let (constant, check, call) = (target.constant(), target.check(argument), call(&function, &item.sig)?);
    let implementation = quote! {
        #check

        #[automatically_derived]
        impl ::plugport_sdk::completions::Completer for #ident {
            const TARGET: ::plugport_sdk::completions::Target = #constant;
            const ARGUMENT: &'static str = #argument;
            #call
        }
    };
    Ok(function.item(&format!("Completes `{}`, for `export!`.", argument.value()), &implementation))
}

fn call(function: &Function, signature: &Signature) -> syn::Result<TokenStream> {
    let called = function.call(&passed(signature)?);
    let span = match &signature.output {
        ReturnType::Default => signature.ident.span(),
        ReturnType::Type(_, ty) => ty.span(),
    };
    let outcome =
        quote_spanned! {span=> ::plugport_sdk::__private::fallibility(&__returned).split(__returned) };
    let values =
        quote_spanned! {span=> ::plugport_sdk::__private::IntoCompletion::into_completion(__values) };
    Ok(quote! {
        #[allow(unused_variables, reason = "written by the macro")]
        fn complete(
            __call: &::plugport_sdk::Call,
            __value: &str,
            __context: &::plugport_sdk::completions::CompletionContext,
        ) -> ::core::result::Result<::plugport_sdk::completions::Completion, ::plugport_sdk::Error> {
            #[allow(unused_imports, reason = "written by the macro")]
            use ::plugport_sdk::__private::Infallible as _;
            let __returned = #called;
            match #outcome {
                ::core::result::Result::Ok(__values) => ::core::result::Result::Ok(#values),
                ::core::result::Result::Err(__failure) => ::core::result::Result::Err(__failure.into_error()),
            }
        }
    })
}

impl Target {
    fn constant(&self) -> TokenStream {
        let target = quote! { ::plugport_sdk::completions::Target };
        match self {
            Self::Prompt(path) => {
                quote_spanned! {path.span()=> #target::Prompt(<#path as ::plugport_sdk::Prompt>::NAME) }
            }
            Self::Template(path) => {
                quote_spanned! {path.span()=> #target::Template(<#path as ::plugport_sdk::Resource>::URI) }
            }
        }
    }

    /// Lets the compiler look for the argument.
    fn check(&self, argument: &LitStr) -> TokenStream {
        let (names, message) = match self {
            Self::Prompt(path) => (
                quote_spanned! {path.span()=> <#path as ::plugport_sdk::Prompt>::ARGUMENTS },
                "the prompt has no such argument; name one of its parameters",
            ),
            Self::Template(path) => (
                quote_spanned! {path.span()=> <#path as ::plugport_sdk::Resource>::VARIABLES },
                "the template has no such variable; name one of those in its braces",
            ),
        };
        quote_spanned! {argument.span()=>
            const _: () = ::core::assert!(::plugport_sdk::__private::has(#names, #argument), #message);
        }
    }
}

/// What is passed to the function, whose parameters are told apart by their types.
fn passed(signature: &Signature) -> syn::Result<Vec<TokenStream>> {
    let mut seen = Vec::new();
    let typed = function::typed(signature, WHAT)?;
    for PatType { pat, ty, .. } in &typed {
        if !matches!(&**pat, Pat::Wild(_)) {
            parameter::ident(pat)?;
        }
        let kind = kind(ty).ok_or_else(|| {
            syn::Error::new_spanned(
                ty,
                "a completion takes what is typed as `&str`, the other arguments as `&CompletionContext` and the call as `&Call`",
            )
        })?;
        if seen.contains(&kind) {
            return Err(syn::Error::new_spanned(ty, "another parameter has this type; remove one"));
        }
        seen.push(kind);
    }
    if !seen.contains(&"__value") {
        let message = "a completion needs what is typed so far; add a parameter such as `value: &str`";
        return Err(syn::Error::new_spanned(&signature.ident, message));
    }
    let passed = seen.into_iter().map(|name| syn::Ident::new(name, signature.ident.span()));
    Ok(passed.map(|name| quote! { #name }).collect())
}

fn kind(ty: &Type) -> Option<&'static str> {
    let kinds = [("str", "__value"), ("CompletionContext", "__context"), ("Call", "__call")];
    kinds.into_iter().find(|(name, _)| is_reference(ty, name)).map(|(_, variable)| variable)
}
