//! The code that makes a tool of a function.
//!
//! Paths are absolute and names begin with underscores, since the author's items are in scope. What may fail because of
//! a type has that type's position, so that the compiler points at it.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprLit, Lit, Path, Type};

use super::options::Options;
use super::parse::ToolFunction;
use crate::function::option;
use crate::parameter::{Argument, Parameter};

/// The type of the function's name, and its implementations.
pub(crate) fn write(tool: &ToolFunction) -> TokenStream {
    let ToolFunction { function, name, options, .. } = tool;
    let ident = &function.ident;
    let constants = tool.parameters.iter().zip(&names(tool)).map(constant).collect::<TokenStream>();
    let is_listed = options.when.as_ref().map(is_listed);
    let describe = describe(tool);
    let call = call(tool);
    let implementation = quote! {
        #constants

        #[automatically_derived]
        impl ::plugport_sdk::Tool for #ident {
            const NAME: &'static str = #name;
            #is_listed
            #describe
            #call
        }
    };
    function.item(&format!("The tool `{}`, for `export!`.", name.value()), &implementation)
}

/// Calls the author's function that decides whether the item is listed.
pub(crate) fn is_listed(when: &Path) -> TokenStream {
    quote_spanned! {when.span()=>
        fn is_listed() -> bool {
            #when()
        }
    }
}

fn describe(tool: &ToolFunction) -> TokenStream {
    let ToolFunction { description, options, function, .. } = tool;
    let returns = &function.returns;
    let hints = hints(options);
    let input = match &options.input_schema {
        Some(schema) => verbatim(schema),
        None => input_schema(tool),
    };
    let output = match &options.output_schema {
        Some(schema) => option(Some(&verbatim(schema))),
        None => quote_spanned! {returns.span()=>
            (&&::plugport_sdk::__private::Fallibility::<#returns>::new().kind()).output_schema()
        },
    };
    quote! {
        fn describe() -> ::core::result::Result<::plugport_sdk::tools::ToolDescription, ::plugport_sdk::Error> {
            #[allow(unused_imports, reason = "written by the macro")]
            use ::plugport_sdk::__private::{Infallible as _, IsContent as _, WithSchema as _, WithoutSchema as _};
            let __input = #input;
            let __output = #output;
            let __hints = #hints;
            ::core::result::Result::Ok(::plugport_sdk::__private::describe(
                <Self as ::plugport_sdk::Tool>::NAME,
                #description,
                __hints,
                __input,
                __output,
            ))
        }
    }
}

/// A text that the author wrote, which no part of this crate reads.
fn verbatim(text: &Expr) -> TokenStream {
    quote_spanned! {text.span()=> ::plugport_sdk::__private::verbatim(#text).to_owned() }
}

fn hints(options: &Options) -> TokenStream {
    let title = option(options.title.as_ref());
    let read_only = option(options.read_only.as_ref());
    let destructive = option(options.destructive.as_ref());
    let idempotent = option(options.idempotent.as_ref());
    let open_world = option(options.open_world.as_ref());
    let extra = option(options.extra.as_ref());
    quote! {
        ::plugport_sdk::__private::ToolOptions {
            title: #title,
            read_only: #read_only,
            destructive: #destructive,
            idempotent: #idempotent,
            open_world: #open_world,
            extra: #extra,
        }
    }
}

/// The constant that describes a parameter. The call has none.
fn constant((parameter, name): (&Parameter, &Ident)) -> TokenStream {
    match parameter {
        Parameter::Call(_) => TokenStream::new(),
        Parameter::AllArguments(ty) => quote_spanned! {ty.span()=>
            const #name: ::plugport_sdk::__private::AllArguments<#ty> = ::plugport_sdk::__private::AllArguments::<#ty>::new();
        },
        Parameter::Argument(argument) => {
            let Argument { name: key, ty, .. } = &**argument;
            let description = option(argument.description.as_ref());
            let default = argument.default.as_ref().map(|default| or(default, ty));
            let limits = argument.limits.write();
            quote_spanned! {ty.span()=>
                const #name: ::plugport_sdk::__private::Parameter<#ty> =
                    ::plugport_sdk::__private::Parameter::<#ty>::new(#key, #description) #default #limits;
            }
        }
    }
}

/// Makes a parameter optional.
fn or(default: &Expr, ty: &Type) -> TokenStream {
    let value = default_of(default, ty);
    quote_spanned! {ty.span()=>
        .or(
            || ::core::option::Option::Some(#value),
            || ::plugport_sdk::__private::shown::<#ty>(#value),
        )
    }
}

/// A default as the author means it: a literal text also for a `String` or a path.
pub(crate) fn default_of(default: &Expr, ty: &Type) -> TokenStream {
    match default {
        Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => {
            quote_spanned! {ty.span()=> ::plugport_sdk::__private::text::<#ty>(#default) }
        }
        _ => default.to_token_stream(),
    }
}

fn input_schema(tool: &ToolFunction) -> TokenStream {
    let names = names(tool);
    let mut parameters = tool.parameters.iter().zip(&names);
    if let Some((_, name)) = parameters.find(|(parameter, _)| matches!(parameter, Parameter::AllArguments(_)))
    {
        return quote! { #name.schema()? };
    }
    let arguments = tool.parameters.iter().zip(&names);
    let arguments = arguments.filter(|(parameter, _)| matches!(parameter, Parameter::Argument(_)));
    let adds = arguments.map(|(_, name)| quote! { __properties.add(&#name); });
    quote! {{
        #[allow(unused_mut, reason = "written by the macro")]
        let mut __properties = ::plugport_sdk::__private::Properties::new();
        #(#adds)*
        __properties.finish()
    }}
}

fn call(tool: &ToolFunction) -> TokenStream {
    let returns = &tool.function.returns;
    let split = split(&tool.parameters);
    let values = tool.parameters.iter().zip(&names(tool)).map(value).collect::<Vec<_>>();
    let called = tool.function.call(&values);
    let result = quote_spanned! {returns.span()=>
        (&&__fallibility.kind()).convert(__value)
    };
    let outcome = quote_spanned! {returns.span()=> __fallibility.split(__returned) };
    quote! {
        // A tool may never return.
        #[allow(unreachable_code, clippy::diverging_sub_expression, clippy::let_unit_value, reason = "written by the macro")]
        fn call(
            __call: &::plugport_sdk::Call,
            __text: &str,
        ) -> ::core::result::Result<::plugport_sdk::ToolResult, ::plugport_sdk::Error> {
            #[allow(unused_imports, reason = "written by the macro")]
            use ::plugport_sdk::__private::{Infallible as _, IsContent as _, WithSchema as _, WithoutSchema as _};
            #split
            let __returned: #returns = #called;
            let __fallibility = ::plugport_sdk::__private::Fallibility::<#returns>::new();
            match #outcome {
                ::core::result::Result::Ok(__value) => #result,
                ::core::result::Result::Err(__failure) => __failure.into_tool_result(),
            }
        }
    }
}

/// Splits the arguments, unless one parameter takes all of them.
fn split(parameters: &[Parameter]) -> Option<TokenStream> {
    let mut names = Vec::new();
    for parameter in parameters {
        match parameter {
            Parameter::Call(_) => {}
            Parameter::AllArguments(_) => return None,
            Parameter::Argument(argument) => names.push(&argument.name),
        }
    }
    Some(quote! {
        let __arguments = ::plugport_sdk::__private::Arguments::parse(__text, &[#(#names),*])?;
    })
}

/// The value that the function gets for a parameter.
fn value((parameter, name): (&Parameter, &Ident)) -> TokenStream {
    match parameter {
        Parameter::Call(_) => quote! { __call },
        Parameter::AllArguments(_) => quote! { #name.take(__text)? },
        Parameter::Argument(_) => quote! { #name.take(&__arguments)? },
    }
}

/// The names of the parameters' constants.
fn names(tool: &ToolFunction) -> Vec<Ident> {
    let count = tool.parameters.len();
    (0..count).map(|n| format_ident!("__PARAMETER_{n}")).collect()
}
