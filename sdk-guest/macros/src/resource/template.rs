//! Takes a URI template (RFC 6570) apart, and holds its variables against the function's parameters.
//!
//! Supported is what can be read backwards without guessing: `{x}`, `{+x}`, `{#x}`, `{/x}`, `{?x,y}` and `{&x,y}`, with one
//! name or several, and no modifiers.

use proc_macro2::TokenStream;
use quote::quote;
use syn::LitStr;

use super::options::check_shape;
use crate::parameter::Argument;

enum Piece {
    Literal(String),
    Value { name: String, prefix: &'static str, reserved: bool },
    Query { names: Vec<String>, prefix: char },
}

pub(super) struct Template {
    text: LitStr,
    pieces: Vec<Piece>,
}

impl Template {
    pub(super) fn parse(text: &LitStr) -> syn::Result<Self> {
        let refuse = |reason: String| syn::Error::new(text.span(), reason);
        let value = text.value();
        if let Some(reason) = check_shape(&value) {
            return Err(refuse(reason.to_owned()));
        }
        let template = Self { text: text.clone(), pieces: pieces(&value).map_err(refuse)? };
        let names = template.names();
        if names.is_empty() {
            return Err(refuse("this template has no variable; use `#[resource(\"...\")]`".to_owned()));
        }
        for (place, name) in names.iter().enumerate() {
            if names.iter().take(place).any(|other| other == name) {
                return Err(refuse(format!("the variable `{name}` stands here twice; rename one")));
            }
        }
        Ok(template)
    }

    /// The variables, in order.
    pub(super) fn names(&self) -> Vec<&str> {
        let names = self.pieces.iter().flat_map(|piece| match piece {
            Piece::Literal(_) => Vec::new(),
            Piece::Value { name, .. } => vec![name.as_str()],
            Piece::Query { names, .. } => names.iter().map(String::as_str).collect(),
        });
        names.collect()
    }

    /// Refuses a variable without a parameter and a parameter without a variable.
    pub(super) fn check(&self, arguments: &[Argument]) -> syn::Result<()> {
        let names = self.names();
        for argument in arguments {
            let name = argument.name.value();
            if !names.contains(&name.as_str()) {
                let message =
                    format!("the template has no variable `{{{name}}}`; add it or remove this parameter");
                return Err(syn::Error::new(argument.name.span(), message));
            }
        }
        for name in names {
            if !arguments.iter().any(|argument| argument.name.value() == name) {
                let message =
                    format!("the variable `{name}` needs a parameter of that name, such as `{name}: String`");
                return Err(syn::Error::new(self.text.span(), message));
            }
        }
        Ok(())
    }

    /// The pieces as code.
    pub(super) fn pieces(&self) -> Vec<TokenStream> {
        self.pieces.iter().map(Piece::code).collect()
    }
}

impl Piece {
    fn code(&self) -> TokenStream {
        let piece = quote! { ::plugport_sdk::__private::Piece };
        match self {
            Self::Literal(text) => quote! { #piece::Literal(#text) },
            Self::Value { name, prefix, reserved } => {
                quote! { #piece::Value { name: #name, prefix: #prefix, reserved: #reserved } }
            }
            Self::Query { names, prefix } => {
                quote! { #piece::Query { names: &[#(#names),*], prefix: #prefix } }
            }
        }
    }
}

fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((literal, after)) = rest.split_once('{') {
        let (expression, after) =
            after.split_once('}').ok_or("a brace is open; close it with `}`".to_owned())?;
        pieces.extend(self::literal(literal)?);
        pieces.extend(self::expression(expression)?);
        rest = after;
    }
    pieces.extend(literal(rest)?);
    Ok(pieces)
}

fn literal(text: &str) -> Result<Option<Piece>, String> {
    match text.contains('}') {
        true => Err("a brace is closed that was not open; remove it".to_owned()),
        false => Ok((!text.is_empty()).then(|| Piece::Literal(text.to_owned()))),
    }
}

fn expression(text: &str) -> Result<Vec<Piece>, String> {
    let (operator, names) = match text.chars().next() {
        Some(operator @ ('+' | '#' | '/' | '?' | '&')) => (operator, text.get(1..).unwrap_or_default()),
        _ => (' ', text),
    };
    let names = names.split(',').map(name).collect::<Result<Vec<_>, _>>()?;
    Ok(match operator {
        '?' | '&' => vec![Piece::Query { names, prefix: operator }],
        '/' => names.into_iter().map(|name| Piece::Value { name, prefix: "/", reserved: false }).collect(),
        '#' => separated(names, "#", true),
        '+' => separated(names, "", true),
        _ => separated(names, "", false),
    })
}

/// `a,b`: the first with the prefix, the others after commas.
fn separated(names: Vec<String>, first: &'static str, reserved: bool) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (place, name) in names.into_iter().enumerate() {
        let prefix = if place == 0 { first } else { "" };
        if place > 0 {
            pieces.push(Piece::Literal(",".to_owned()));
        }
        pieces.push(Piece::Value { name, prefix, reserved });
    }
    pieces
}

fn name(text: &str) -> Result<String, String> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if !text.is_empty() && text.chars().all(good) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "`{{{text}}}` is not understood; write `{{x}}`, `{{+x}}`, `{{#x}}`, `{{/x}}`, `{{?x,y}}` or `{{&x,y}}`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Result<String, String> {
        let shown = pieces(text)?.into_iter().map(|piece| match piece {
            Piece::Literal(text) => text,
            Piece::Value { name, prefix, reserved } => {
                format!("<{prefix}{name}{}>", if reserved { "!" } else { "" })
            }
            Piece::Query { names, prefix } => format!("<{prefix} {}>", names.join(" ")),
        });
        Ok(shown.collect())
    }

    #[test]
    fn a_template_is_taken_apart() {
        assert_eq!(shown("n://{id}/data").unwrap(), "n://<id>/data");
        assert_eq!(shown("n://{a,b}{/c,d}{?x,y}{&z}{#f}").unwrap(), "n://<a>,<b></c></d><? x y><& z><#f!>");
        assert_eq!(shown("f:{+path}").unwrap(), "f:<path!>");
    }

    #[test]
    fn what_cannot_be_read_backwards_is_refused() {
        for wrong in ["a:{x*}", "a:{x:3}", "a:{;x}", "a:{}", "a:{x", "a:x}", "a:{x,}"] {
            assert!(shown(wrong).is_err(), "{wrong}");
        }
    }
}
