//! Limits on an argument: the keys of `#[arg(...)]` that become keywords of its schema, which the server validates.
//!
//! A limit that cannot mean anything is reported. The macro knows types by their names, so it says nothing about a type
//! of the author's own, and it compares only limits that are written as literals.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Expr, Ident, Lit, Type};

mod argument_kind;
mod check;
mod literal;

/// What a limit is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    Number,
    Length,
    Text,
}

/// A key, and the keyword that it becomes. The SDK replaces `minLength` and `maxLength` where the argument is no text.
struct Key {
    name: &'static str,
    keyword: &'static str,
    subject: Subject,
}

const fn key(name: &'static str, keyword: &'static str, subject: Subject) -> Key {
    Key { name, keyword, subject }
}

static KEYS: [Key; 9] = [
    key("min", "minimum", Subject::Number),
    key("max", "maximum", Subject::Number),
    key("above", "exclusiveMinimum", Subject::Number),
    key("below", "exclusiveMaximum", Subject::Number),
    key("multiple_of", "multipleOf", Subject::Number),
    key("min_length", "minLength", Subject::Length),
    key("max_length", "maxLength", Subject::Length),
    key("pattern", "pattern", Subject::Text),
    key("format", "format", Subject::Text),
];

/// One key with its value.
#[derive(Clone)]
struct Limit {
    key: &'static Key,
    at: Ident,
    value: Expr,
}

/// The limits on one argument.
#[derive(Clone, Default)]
pub(crate) struct Limits(Vec<Limit>);

impl Limits {
    /// Reads a key; `false` if it is none of these.
    pub(crate) fn read(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<bool> {
        let Some(at) = meta.path.get_ident() else { return Ok(false) };
        let Some(key) = KEYS.iter().find(|key| at == key.name) else { return Ok(false) };
        if self.get(key.name).is_some() {
            return Err(meta.error("this key stands here twice; remove one"));
        }
        let value = meta.value().map_err(|_| meta.error(key.wrong()))?;
        if value.is_empty() {
            return Err(meta.error(key.wrong()));
        }
        let value: Expr = value.parse()?;
        key.accept(&value)?;
        self.0.push(Limit { key, at: at.clone(), value });
        Ok(true)
    }

    /// Rejects limits that do not fit the type, each other or the default.
    pub(crate) fn check(&self, ty: &Type, default: Option<&Expr>) -> syn::Result<()> {
        check::check(self, ty, default)
    }

    /// Rejects all limits, for `reason`.
    pub(crate) fn reject(&self, reason: &str) -> syn::Result<()> {
        match self.0.first() {
            Some(limit) => Err(syn::Error::new(limit.at.span(), reason)),
            None => Ok(()),
        }
    }

    /// Adds the limits to a parameter's constant.
    pub(crate) fn write(&self) -> Option<TokenStream> {
        let pairs = self.0.iter().map(Limit::pair);
        (!self.0.is_empty()).then(|| quote! { .limited(|| ::std::vec![#(#pairs),*]) })
    }

    fn get(&self, name: &str) -> Option<&Limit> {
        self.0.iter().find(|limit| limit.key.name == name)
    }
}

impl Limit {
    /// The keyword and its value.
    fn pair(&self) -> TokenStream {
        let (keyword, value) = (self.key.keyword, &self.value);
        let json = match self.key.subject {
            Subject::Number => {
                let value = literal::suffixed(value);
                quote_spanned! {self.value.span()=> ::plugport_sdk::serde_json::Value::from(#value) }
            }
            Subject::Length => quote_spanned! {value.span()=>
                <::plugport_sdk::serde_json::Value as ::core::convert::From<usize>>::from(#value)
            },
            Subject::Text => quote_spanned! {value.span()=>
                <::plugport_sdk::serde_json::Value as ::core::convert::From<&'static str>>::from(#value)
            },
        };
        quote! { (#keyword, #json) }
    }
}

impl Key {
    /// Rejects a literal of the wrong kind.
    fn accept(&self, value: &Expr) -> syn::Result<()> {
        let is_right = match (self.subject, literal::of(value)) {
            (_, None) => true,
            (Subject::Number, Some(literal)) => matches!(literal, Lit::Int(_) | Lit::Float(_)),
            (Subject::Length, Some(literal)) => {
                matches!(literal, Lit::Int(_)) && matches!(value, Expr::Lit(_))
            }
            (Subject::Text, Some(Lit::Str(text))) => !text.value().is_empty(),
            (Subject::Text, Some(_)) => false,
        };
        if is_right { Ok(()) } else { Err(syn::Error::new_spanned(value, self.wrong())) }
    }

    fn wrong(&self) -> String {
        let name = self.name;
        match self.subject {
            Subject::Number => format!("give this key a number, as in `{name} = 1`"),
            Subject::Length => {
                format!("give this key a whole number that is not negative, as in `{name} = 1`")
            }
            Subject::Text => format!("give this key a text, as in `{name} = \"...\"`"),
        }
    }
}
