//! Parses and checks the author's function.

use proc_macro2::TokenStream;
use syn::{ItemFn, LitStr};

use super::options::Options;
use crate::function::{self, Function};
use crate::parameter::Parameter;

const WHAT: &str = "a tool";

/// A function that can be a tool.
pub(crate) struct ToolFunction {
    pub(crate) function: Function,
    pub(crate) name: LitStr,
    pub(crate) description: String,
    pub(crate) options: Options,
    pub(crate) parameters: Vec<Parameter>,
}

pub(crate) fn parse(options: TokenStream, item: &ItemFn) -> syn::Result<ToolFunction> {
    let options = Options::parse(options)?;
    let function = Function::parse(item, WHAT)?;
    let description = function.description(item, WHAT)?;
    let parameters = function::parameters(&item.sig, WHAT)?;
    one_whole(&parameters)?;
    if options.input_schema.is_some() {
        no_limits(&parameters)?;
    }
    Ok(ToolFunction {
        name: options.name.clone().unwrap_or_else(|| function.name()),
        description,
        parameters,
        function,
        options,
    })
}

/// Where one parameter takes all arguments, there is no other but the call.
fn one_whole(parameters: &[Parameter]) -> syn::Result<()> {
    let first = parameters.iter().position(|parameter| matches!(parameter, Parameter::AllArguments(_)));
    let Some(first) = first else { return Ok(()) };
    for (index, parameter) in parameters.iter().enumerate() {
        let ty = match parameter {
            Parameter::Argument(argument) => &argument.ty,
            Parameter::AllArguments(ty) if index != first => ty,
            _ => continue,
        };
        return Err(syn::Error::new_spanned(
            ty,
            "the parameter with `#[args]` takes all arguments; make this one a field of that struct",
        ));
    }
    Ok(())
}

/// A schema of the author's own has the limits.
fn no_limits(parameters: &[Parameter]) -> syn::Result<()> {
    parameters.iter().try_for_each(|parameter| match parameter {
        Parameter::Argument(argument) => argument.limits.reject(
            "the tool's `input_schema` is sent as it is; write this limit there, and remove this key",
        ),
        Parameter::Call(_) | Parameter::AllArguments(_) => Ok(()),
    })
}
