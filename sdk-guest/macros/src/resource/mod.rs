//! `#[resource("...")]` and `#[resource_template("...")]`: a function becomes a resource, or many.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{ItemFn, LitStr, Type};

use crate::function::{self, Function, option};
use crate::parameter::Parameter;
use crate::text_parameters;

mod options;
mod uri_template;

use options::Options;
use uri_template::Template;

/// A resource.
pub(crate) fn expand(options: TokenStream, function: TokenStream) -> TokenStream {
    function::expand("resource", function, |item| {
        let what = "a resource";
        let options = options::parse(options, "resource")?;
        options::check_uri(&options.uri)?;
        let function = Function::parse(item, what)?;
        let parameters = function::parameters(&item.sig, what)?;
        if let Some(argument) = text_parameters::arguments(&parameters, what)?.first() {
            let message = "a resource has no arguments but the call; `#[resource_template(\"...\")]` makes many resources of one function";
            return Err(syn::Error::new_spanned(&argument.ty, message));
        }
        fixed(&options, &function, item, &parameters)
    })
}

/// A template for many resources.
pub(crate) fn expand_template(options: TokenStream, function: TokenStream) -> TokenStream {
    function::expand("resource_template", function, |item| {
        let what = "a resource template";
        let options = options::parse(options, "resource_template")?;
        let template = Template::parse(&options.uri)?;
        let function = Function::parse(item, what)?;
        let parameters = function::parameters(&item.sig, what)?;
        template.check(&text_parameters::arguments(&parameters, what)?)?;
        many(&options, &template, &function, item, &parameters)
    })
}

/// What differs between a resource and a template.
struct Parts {
    names: Vec<String>,
    is_template: bool,
    list: TokenStream,
    template: TokenStream,
    /// The parameter that has the values of the variables.
    values: TokenStream,
    read: TokenStream,
}

fn fixed(
    options: &Options,
    function: &Function,
    item: &ItemFn,
    parameters: &[Parameter],
) -> syn::Result<TokenStream> {
    let about = about(options, function, item, "a resource")?;
    let read = read(function, options, parameters);
    let parts = Parts {
        names: Vec::new(),
        is_template: false,
        list: quote! { ::core::result::Result::Ok(::std::vec![#about.resource()]) },
        template: quote! { ::core::option::Option::None },
        values: quote! { _ },
        read,
    };
    Ok(parts.write(&options.uri, function))
}

fn many(
    options: &Options,
    template: &Template,
    function: &Function,
    item: &ItemFn,
    parameters: &[Parameter],
) -> syn::Result<TokenStream> {
    let about = about(options, function, item, "a resource template")?;
    let list = options.list.as_ref().map_or_else(
        || quote! { ::core::result::Result::Ok(::std::vec::Vec::new()) },
        |list| quote_spanned! {list.span()=> ::plugport_sdk::__private::IntoListing::into_listing(#list()) },
    );
    let arguments = text_parameters::arguments(parameters, "a resource template")?;
    let values = arguments.iter().enumerate().map(|(n, argument)| {
        let (local, take) = (text_parameters::local(n), text_parameters::take(argument));
        quote! {
            let ::core::result::Result::Ok(#local) = #take else {
                return ::core::result::Result::Err(::plugport_sdk::__private::no_such_resource(__uri));
            };
        }
    });
    let read = read(function, options, parameters);
    let parts = Parts {
        names: template.names().to_vec(),
        is_template: true,
        list,
        template: quote! { ::core::option::Option::Some(#about.template()) },
        values: quote! { __values },
        read: quote! {
            #(#values)*
            #read
        },
    };
    Ok(parts.write(&options.uri, function))
}

impl Parts {
    /// The type of the function's name, and its implementations.
    fn write(&self, uri: &LitStr, function: &Function) -> TokenStream {
        let Self { names, is_template, list, template, values, read } = self;
        let ident = &function.ident;
        let traits = quote! {
            #[allow(unused_imports, reason = "written by the macro")]
            use ::plugport_sdk::__private::{Infallible as _, NotOption as _};
        };
        let implementation = quote! {
            #traits

            #[automatically_derived]
            impl ::plugport_sdk::Resource for #ident {
                const URI: &'static str = #uri;
                const VARIABLES: &'static [&'static str] = &[#(#names),*];
                const IS_TEMPLATE: bool = #is_template;

                fn list() -> ::plugport_sdk::__private::ListResult {
                    #list
                }

                fn template() -> ::core::option::Option<::plugport_sdk::resources::ResourceTemplateInfo> {
                    #template
                }

                fn read(
                    __call: &::plugport_sdk::Call,
                    __uri: &str,
                    #values: &[(::std::string::String, ::std::string::String)],
                ) -> ::plugport_sdk::__private::ReadResult {
                    #read
                }
            }
        };
        function.item(&format!("The resource `{}`, for `export!`.", uri.value()), &implementation)
    }
}

/// The description of the resource or of the template.
fn about(options: &Options, function: &Function, item: &ItemFn, what: &str) -> syn::Result<TokenStream> {
    let Options { uri, .. } = options;
    let name: LitStr = options.name.clone().unwrap_or_else(|| function.name());
    let description = function.description(item, what)?;
    let title = option(options.title.as_ref());
    let extra = option(options.extra.as_ref());
    let mime_type = mime_type(&function.returns, options);
    Ok(quote! {
        ::plugport_sdk::__private::ResourceOptions {
            uri: #uri,
            name: #name,
            title: #title,
            description: #description,
            mime_type: #mime_type,
            extra: #extra,
        }
    })
}

fn mime_type(returns: &Type, options: &Options) -> TokenStream {
    let said = option(options.mime_type.as_ref());
    quote_spanned! {returns.span()=>
        ::plugport_sdk::__private::Fallibility::<#returns>::new().kind().mime_type(#said)
    }
}

/// Calls the function and converts its return value into contents.
fn read(function: &Function, options: &Options, parameters: &[Parameter]) -> TokenStream {
    let returns = &function.returns;
    let called = function.call(&text_parameters::passed(parameters));
    let said = option(options.mime_type.as_ref());
    let contents = quote_spanned! {returns.span()=> __fallibility.kind().contents(__value, __uri, #said) };
    let outcome = quote_spanned! {returns.span()=> __fallibility.split(__returned) };
    quote! {
        let __returned: #returns = #called;
        let __fallibility = ::plugport_sdk::__private::Fallibility::<#returns>::new();
        match #outcome {
            ::core::result::Result::Ok(__value) => #contents,
            ::core::result::Result::Err(__failure) => ::core::result::Result::Err(__failure.into_error()),
        }
    }
}
