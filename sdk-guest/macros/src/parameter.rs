//! One parameter: an argument with a name in JSON, all arguments at once, or the call.

use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr, FnArg, Ident, ItemFn, LitStr, Meta, Pat, PatType, Type};

use crate::attribute_keys::{set, string};
use crate::docs;
use crate::limits::Limits;

/// What a parameter is for.
pub(crate) enum Parameter {
    /// `call: &Call`
    Call(Box<Type>),
    /// `#[args] all: Struct`
    AllArguments(Box<Type>),
    /// Everything else.
    Argument(Box<Argument>),
}

/// An argument of a tool or a prompt, or a variable of a template.
#[derive(Clone)]
pub(crate) struct Argument {
    pub(crate) name: LitStr,
    pub(crate) ty: Type,
    pub(crate) description: Option<String>,
    pub(crate) default: Option<Expr>,
    pub(crate) limits: Limits,
}

#[derive(Default)]
struct Keys {
    rename: Option<LitStr>,
    default: Option<Expr>,
    limits: Limits,
}

/// Removes the attributes that only the macro understands.
pub(crate) fn strip(function: &mut ItemFn) {
    for input in &mut function.sig.inputs {
        if let FnArg::Typed(typed) = input {
            typed.attrs.retain(|attribute| !is_ours(attribute) && !docs::is_doc(attribute));
        }
    }
}

impl Parameter {
    pub(crate) fn parse(typed: &PatType) -> syn::Result<Self> {
        reject_cfg(&typed.attrs)?;
        let ident = ident(&typed.pat)?;
        if is_call(&typed.ty) {
            reject_ours(&typed.attrs, "the call is no argument; remove this attribute")?;
            return Ok(Self::Call(typed.ty.clone()));
        }
        reject_reference(&typed.ty)?;
        if let Some(args) = typed.attrs.iter().find(|attribute| attribute.path().is_ident("args")) {
            plain(args)?;
            let others: Vec<_> =
                typed.attrs.iter().filter(|other| !std::ptr::eq(*other, args)).cloned().collect();
            reject_ours(&others, "`#[args]` takes all arguments as they are; remove this attribute")?;
            return Ok(Self::AllArguments(typed.ty.clone()));
        }
        Argument::parse(ident, typed).map(|argument| Self::Argument(Box::new(argument)))
    }
}

impl Argument {
    fn parse(ident: &Ident, typed: &PatType) -> syn::Result<Self> {
        let mut keys = Keys::default();
        for attribute in typed.attrs.iter().filter(|attribute| attribute.path().is_ident("arg")) {
            match &attribute.meta {
                Meta::List(_) => attribute.parse_nested_meta(|meta| keys.key(&meta)),
                other => Err(syn::Error::new_spanned(
                    other,
                    "`#[arg]` says nothing; write `#[arg(default = ...)]` or `#[arg(rename = \"...\")]`, or remove it",
                )),
            }?;
        }
        keys.limits.check(&typed.ty, keys.default.as_ref())?;
        let name = LitStr::new(&ident.unraw().to_string(), ident.span());
        Ok(Self {
            name: keys.rename.unwrap_or(name),
            ty: (*typed.ty).clone(),
            description: docs::description(&typed.attrs)?,
            default: keys.default,
            limits: keys.limits,
        })
    }
}

impl Keys {
    fn key(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let wrong = "give the default a value, as in `default = 10`";
        if meta.path.is_ident("rename") {
            set(meta, &mut self.rename, string)
        } else if meta.path.is_ident("default") {
            let value = meta.value().map_err(|_| meta.error(wrong))?;
            if value.is_empty() {
                return Err(meta.error(wrong));
            }
            set(meta, &mut self.default, |meta| meta.input.parse())
        } else if self.limits.read(meta)? {
            Ok(())
        } else {
            Err(meta.error(
                "`#[arg]` has no such key; it knows `default`, `rename`, `min`, `max`, `above`, `below`, `multiple_of`, `min_length`, `max_length`, `pattern` and `format`",
            ))
        }
    }
}

fn is_ours(attribute: &Attribute) -> bool {
    attribute.path().is_ident("arg") || attribute.path().is_ident("args")
}

fn reject_ours(attributes: &[Attribute], reason: &str) -> syn::Result<()> {
    match attributes.iter().find(|attribute| is_ours(attribute)) {
        Some(attribute) => Err(syn::Error::new_spanned(attribute, reason)),
        None => Ok(()),
    }
}

fn reject_cfg(attributes: &[Attribute]) -> syn::Result<()> {
    let is_cfg =
        |attribute: &&Attribute| attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr");
    match attributes.iter().find(is_cfg) {
        Some(attribute) => Err(syn::Error::new_spanned(
            attribute,
            "a parameter cannot depend on the configuration; write two functions and put `#[cfg]` on those",
        )),
        None => Ok(()),
    }
}

fn plain(args: &Attribute) -> syn::Result<()> {
    match &args.meta {
        Meta::Path(_) => Ok(()),
        other => Err(syn::Error::new_spanned(other, "`#[args]` has no keys; write it alone")),
    }
}

/// The parameter's name.
///
/// # Errors
/// When the parameter is a pattern.
pub(crate) fn ident(pattern: &Pat) -> syn::Result<&Ident> {
    match pattern {
        Pat::Ident(pattern) if pattern.subpat.is_none() && pattern.by_ref.is_none() => Ok(&pattern.ident),
        other => Err(syn::Error::new_spanned(
            other,
            "a parameter needs a plain name, which becomes the argument's name; take patterns apart in the body",
        )),
    }
}

/// Whether this is `&Call`.
fn is_call(ty: &Type) -> bool {
    is_reference(ty, "Call")
}

/// Whether this is a shared reference to a type of this name.
pub(crate) fn is_reference(ty: &Type, name: &str) -> bool {
    let Type::Reference(reference) = ty else { return false };
    let Type::Path(path) = &*reference.elem else { return false };
    let named = path.path.segments.last().is_some_and(|segment| segment.ident == name);
    named && reference.mutability.is_none()
}

fn reject_reference(ty: &Type) -> syn::Result<()> {
    match ty {
        Type::Reference(_) => Err(syn::Error::new_spanned(
            ty,
            "an argument must own what it holds; take `String` for `&str`, `Vec<T>` for `&[T]`, and the call as `&Call`",
        )),
        Type::ImplTrait(_) => Err(syn::Error::new_spanned(
            ty,
            "an argument needs a type that can be named; write the type itself",
        )),
        _ => Ok(()),
    }
}
