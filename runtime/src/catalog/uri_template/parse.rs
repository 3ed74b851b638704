//! Reads the text of a template into tokens.

use super::named_values::{PairNames, Pairs};
use super::unnamed_values::Value;
use super::{CharClass, NAME, PAIR_EXPRESSIONS, Token, VARIABLES, Variable};
use crate::catalog::uri;

/// Why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::catalog) enum UriTemplateError {
    /// Braces that do not pair.
    #[error("a brace has no partner; write a variable as `{{name}}`")]
    Brace,
    /// A character that no URI has.
    #[error("the character {} cannot stand in a URI; percent-encode it", .0.escape_unicode())]
    Character(char),
    /// An operator that RFC 6570 reserves.
    #[error("the operator `{0}` is not defined; use none, or one of + # . / ; ? &")]
    Operator(char),
    /// A name that is empty, too long, or has other characters than a name may.
    #[error("a variable's name is not valid; use at most {NAME} letters, digits and `_`")]
    Variable,
    /// The template begins without a scheme.
    #[error("it does not begin with a scheme, such as `notes:`")]
    Scheme,
    /// Beyond [`VARIABLES`] or [`PAIR_EXPRESSIONS`].
    #[error("it has more than {VARIABLES} variables, or {PAIR_EXPRESSIONS} expressions with `;`, `?` or `&`")]
    TooMany,
}

/// The tokens of a template.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, UriTemplateError> {
    let mut tokens = Vec::new();
    let mut variables = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let (literal, tail) = rest.split_at(rest.find(['{', '}']).unwrap_or(rest.len()));
        if let Some(character) = literal.chars().find(|character| !in_uri(*character)) {
            return Err(UriTemplateError::Character(character));
        }
        if !literal.is_empty() {
            tokens.push(Token::Literal(literal.as_bytes().to_vec()));
        }
        rest = tail;
        if !tail.is_empty() {
            let inner = tail.strip_prefix('{').ok_or(UriTemplateError::Brace)?;
            let (expression, after) = inner.split_once('}').ok_or(UriTemplateError::Brace)?;
            variables += expression.split(',').count();
            if variables > VARIABLES {
                return Err(UriTemplateError::TooMany);
            }
            parse_expression(expression, &mut tokens)?;
            rest = after;
        }
    }
    if tokens.iter().filter(|token| matches!(token, Token::Pairs(_))).count() > PAIR_EXPRESSIONS {
        return Err(UriTemplateError::TooMany);
    }
    match tokens.first() {
        Some(Token::Literal(literal)) if uri::scheme(literal).is_some() => Ok(tokens),
        _ => Err(UriTemplateError::Scheme),
    }
}

fn parse_expression(expression: &str, tokens: &mut Vec<Token>) -> Result<(), UriTemplateError> {
    let operator =
        expression.chars().next().filter(|first| !first.is_ascii_alphanumeric() && !"_%".contains(*first));
    let list =
        operator.map_or(expression, |operator| expression.get(operator.len_utf8()..).unwrap_or_default());
    let variables = list.split(',').map(variable).collect::<Result<Vec<_>, _>>()?;
    match operator {
        None => tokens.push(Token::Value(listed(variables, CharClass::Segment))),
        Some('+') => tokens.push(Token::Value(listed(variables, CharClass::Any))),
        Some('#') => {
            let listed = listed(variables, CharClass::Any);
            let value = Value { prefix: Some(b'#'), may_be_absent: true, may_be_empty: true, ..listed };
            tokens.push(Token::Value(value));
        }
        Some(separator @ ('.' | '/')) => {
            tokens.extend(variables.into_iter().map(|variable| Token::Value(part(variable, separator))));
        }
        Some(first @ (';' | '?' | '&')) => tokens.push(Token::Pairs(pairs(variables, first))),
        Some(other) => return Err(UriTemplateError::Operator(other)),
    }
    Ok(())
}

/// `{x,y}`: values with commas between them.
fn listed(variables: Vec<Variable>, class: CharClass) -> Value {
    Value { variables, prefix: None, may_be_absent: false, may_be_empty: false, separator: b',', class }
}

/// `{/x}` or `{.x}`, or one of several: a value with its own prefix. The part of a path may be absent.
fn part(variable: Variable, prefix: char) -> Value {
    let class = match (variable.explode, prefix) {
        (true, '/') => CharClass::PlainOr(b'/'),
        _ => CharClass::Segment,
    };
    let separator = if prefix == '/' { b'/' } else { b'.' };
    Value {
        variables: vec![variable],
        prefix: Some(separator),
        may_be_absent: prefix == '/',
        may_be_empty: false,
        separator,
        class,
    }
}

fn pairs(variables: Vec<Variable>, first: char) -> Pairs {
    let names = match variables.iter().any(|variable| variable.explode) {
        true => PairNames::Any,
        false => PairNames::These(variables.into_iter().map(|variable| variable.name).collect()),
    };
    let between = if first == ';' { b';' } else { b'&' };
    let first = if first == '?' { b'?' } else { between };
    Pairs { first, between, names }
}

fn variable(text: &str) -> Result<Variable, UriTemplateError> {
    let (name, explode) = text.strip_suffix('*').map_or((text, false), |name| (name, true));
    let name = match name.split_once(':') {
        Some((name, length)) if !explode && length.parse::<u16>().is_ok_and(|length| length < 10_000) => name,
        Some(_) => return Err(UriTemplateError::Variable),
        None => name,
    };
    let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '%');
    if name.is_empty() || name.len() > NAME || !name.chars().all(valid) {
        return Err(UriTemplateError::Variable);
    }
    Ok(Variable { name: name.to_owned(), explode })
}

/// Whether a character may stand in a URI.
fn in_uri(character: char) -> bool {
    u8::try_from(character).is_ok_and(uri::allows)
}
