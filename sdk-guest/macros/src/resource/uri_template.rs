//! Reads the variables of a URI template (RFC 6570), and compares them with the function's parameters.
//!
//! The host compares URIs with templates and passes the values. Supported are expressions in which each variable has
//! one value: `{x}`, `{+x}`, `{#x}`, `{/x}`, `{?x,y}` and `{&x,y}`, with one name or several, and no modifiers.

use syn::LitStr;

use super::options::check_shape;
use crate::parameter::Argument;

pub(super) struct Template {
    text: LitStr,
    /// In order.
    names: Vec<String>,
}

impl Template {
    pub(super) fn parse(text: &LitStr) -> syn::Result<Self> {
        let reject = |reason: String| syn::Error::new(text.span(), reason);
        let value = text.value();
        if let Some(reason) = check_shape(&value) {
            return Err(reject(reason.to_owned()));
        }
        let names = names(&value).map_err(reject)?;
        if names.is_empty() {
            return Err(reject("this template has no variable; use `#[resource(\"...\")]`".to_owned()));
        }
        for (index, name) in names.iter().enumerate() {
            if names.iter().take(index).any(|other| other == name) {
                return Err(reject(format!("the variable `{name}` stands here twice; rename one")));
            }
        }
        Ok(Self { text: text.clone(), names })
    }

    /// The variables, in order.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Rejects a variable without a parameter and a parameter without a variable.
    pub(super) fn check(&self, arguments: &[Argument]) -> syn::Result<()> {
        for argument in arguments {
            let name = argument.name.value();
            if !self.names.contains(&name) {
                let message =
                    format!("the template has no variable `{{{name}}}`; add it or remove this parameter");
                return Err(syn::Error::new(argument.name.span(), message));
            }
        }
        for name in &self.names {
            if !arguments.iter().any(|argument| argument.name.value() == *name) {
                let message =
                    format!("the variable `{name}` needs a parameter of that name, such as `{name}: String`");
                return Err(syn::Error::new(self.text.span(), message));
            }
        }
        Ok(())
    }
}

fn names(text: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((literal, after)) = rest.split_once('{') {
        check_literal(literal)?;
        let (expression, after) =
            after.split_once('}').ok_or("a brace is open; close it with `}`".to_owned())?;
        let list = expression.strip_prefix(['+', '#', '/', '?', '&']).unwrap_or(expression);
        for name in list.split(',') {
            names.push(check_name(name)?);
        }
        rest = after;
    }
    check_literal(rest).map(|()| names)
}

fn check_literal(text: &str) -> Result<(), String> {
    match text.contains('}') {
        true => Err("a brace is closed that was not open; remove it".to_owned()),
        false => Ok(()),
    }
}

fn check_name(text: &str) -> Result<String, String> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
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

    #[test]
    fn a_template_has_its_variables_in_order() {
        assert_eq!(names("n://{id}/data").unwrap(), ["id"]);
        assert_eq!(names("n://{a,b}{/c,d}{?x,y}{&z}{#f}").unwrap(), ["a", "b", "c", "d", "x", "y", "z", "f"]);
        assert_eq!(names("f:{+path}").unwrap(), ["path"]);
    }

    #[test]
    fn what_has_not_one_value_is_rejected() {
        for wrong in ["a:{x*}", "a:{x:3}", "a:{;x}", "a:{}", "a:{x", "a:x}", "a:{x,}", "a:{a-b}"] {
            assert!(names(wrong).is_err(), "{wrong}");
        }
    }
}
