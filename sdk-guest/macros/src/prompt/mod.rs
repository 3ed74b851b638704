//! `#[prompt]`: a function becomes a prompt.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{Expr, ItemFn, LitStr, Path};

use crate::attribute_keys::{expression, name, path, set, string};
use crate::function::{self, Function, option};
use crate::parameter::{Argument, Parameter};
use crate::{text_parameters, tool};

const WHAT: &str = "a prompt";

#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    title: Option<LitStr>,
    when: Option<Path>,
    extra: Option<Expr>,
}

struct PromptFunction {
    function: Function,
    name: LitStr,
    description: String,
    options: Options,
    parameters: Vec<Parameter>,
    arguments: Vec<Argument>,
}

pub(crate) fn expand(options: TokenStream, function: TokenStream) -> TokenStream {
    function::expand("prompt", function, |item| parse(options, item).map(|prompt| prompt.write()))
}

fn parse(tokens: TokenStream, item: &ItemFn) -> syn::Result<PromptFunction> {
    let mut options = Options::default();
    syn::meta::parser(|meta| options.key(&meta)).parse2(tokens)?;
    let function = Function::parse(item, WHAT)?;
    let description = function.description(item, WHAT)?;
    let parameters = function::parameters(&item.sig, WHAT)?;
    Ok(PromptFunction {
        name: options.name.clone().unwrap_or_else(|| function.name()),
        arguments: text_parameters::arguments(&parameters, WHAT)?,
        description,
        function,
        options,
        parameters,
    })
}

impl Options {
    fn key(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match key.as_str() {
            "name" => set(meta, &mut self.name, name),
            "title" => set(meta, &mut self.title, string),
            "when" => set(meta, &mut self.when, path),
            "extra" => set(meta, &mut self.extra, expression),
            _ => Err(meta.error("`#[prompt]` has no such key; it knows `name`, `title`, `when` and `extra`")),
        }
    }
}

impl PromptFunction {
    fn write(&self) -> TokenStream {
        let Self { function, name, options, arguments, .. } = self;
        let ident = &function.ident;
        let names = arguments.iter().map(|argument| &argument.name);
        let is_listed = options.when.as_ref().map(tool::is_listed);
        let describe = self.describe();
        let get = self.get();
        let implementation = quote! {
            #[automatically_derived]
            impl ::plugport_sdk::Prompt for #ident {
                const NAME: &'static str = #name;
                const ARGUMENTS: &'static [&'static str] = &[#(#names),*];
                #is_listed
                #describe
                #get
            }
        };
        function.item(&format!("The prompt `{}`, for `export!`.", name.value()), &implementation)
    }

    fn describe(&self) -> TokenStream {
        let Self { name, description, options, arguments, .. } = self;
        let title = option(options.title.as_ref());
        let extra = option(options.extra.as_ref());
        let arguments = arguments.iter().map(|argument| {
            let (name, description) = (&argument.name, option(argument.description.as_ref()));
            let required = text_parameters::required(argument);
            quote! { (#name, #description, #required) }
        });
        quote! {
            fn describe() -> ::plugport_sdk::prompts::PromptDescription {
                #[allow(unused_imports, reason = "written by the macro")]
                use ::plugport_sdk::__private::NotOption as _;
                let __about = ::plugport_sdk::__private::PromptOptions {
                    name: #name,
                    title: #title,
                    description: #description,
                    extra: #extra,
                };
                __about.describe(&[#(#arguments),*])
            }
        }
    }

    fn get(&self) -> TokenStream {
        let returns = &self.function.returns;
        let values = self.arguments.iter().enumerate().map(|(n, argument)| {
            let (local, take, name) =
                (text_parameters::local(n), text_parameters::take(argument), &argument.name);
            quote! { let #local = #take.map_err(|__unusable| __unusable.into_error(#name))?; }
        });
        let called = self.function.call(&text_parameters::passed(&self.parameters));
        let result = quote_spanned! {returns.span()=> __fallibility.kind().prompt(__value) };
        let outcome = quote_spanned! {returns.span()=> __fallibility.split(__returned) };
        quote! {
            fn get(
                __call: &::plugport_sdk::Call,
                __values: &[(::std::string::String, ::std::string::String)],
            ) -> ::core::result::Result<::plugport_sdk::prompts::PromptResult, ::plugport_sdk::Error> {
                #[allow(unused_imports, reason = "written by the macro")]
                use ::plugport_sdk::__private::{Infallible as _, NotOption as _};
                ::plugport_sdk::__private::reject_others(__values, <Self as ::plugport_sdk::Prompt>::ARGUMENTS)?;
                #(#values)*
                let __returned: #returns = #called;
                let __fallibility = ::plugport_sdk::__private::Fallibility::<#returns>::new();
                match #outcome {
                    ::core::result::Result::Ok(__value) => ::core::result::Result::Ok(#result),
                    ::core::result::Result::Err(__failure) => ::core::result::Result::Err(__failure.into_error()),
                }
            }
        }
    }
}
