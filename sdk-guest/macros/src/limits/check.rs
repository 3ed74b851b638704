//! Which limits fit a type, each other and a default.

use syn::{Error, Expr, Lit, Type};

use super::argument_kind::ArgumentKind;
use super::{Limit, Limits, Subject, literal};

/// The two ends of a range, and whether they are outside of it.
const RANGES: [(&str, bool, &str, bool); 5] = [
    ("min", false, "max", false),
    ("min", false, "below", true),
    ("above", true, "max", false),
    ("above", true, "below", true),
    ("min_length", false, "max_length", false),
];

pub(super) fn check(limits: &Limits, ty: &Type, default: Option<&Expr>) -> syn::Result<()> {
    let kind = ArgumentKind::of(ty);
    for limit in &limits.0 {
        subject(limit, kind)?;
        number(limit, kind)?;
    }
    one_subject(limits)?;
    one_end(limits, "min", "above")?;
    one_end(limits, "max", "below")?;
    ranges(limits)?;
    match default {
        Some(default) => limits.0.iter().try_for_each(|limit| fits(limit, default, kind)),
        None => Ok(()),
    }
}

/// A limit is about what the type has.
fn subject(limit: &Limit, kind: ArgumentKind) -> syn::Result<()> {
    let fits = match (limit.key.subject, kind) {
        (_, ArgumentKind::Unknown) => true,
        (Subject::Number, kind) => matches!(kind, ArgumentKind::Integer(_) | ArgumentKind::Float),
        (Subject::Length, kind) => matches!(kind, ArgumentKind::Text | ArgumentKind::Collection),
        (Subject::Text, kind) => kind == ArgumentKind::Text,
    };
    if fits { Ok(()) } else { Err(Error::new(limit.at.span(), about(limit))) }
}

fn about(limit: &Limit) -> String {
    let name = limit.key.name;
    match limit.key.subject {
        Subject::Number => {
            format!("`{name}` is for numbers; `min_length` and `max_length` limit texts, lists and maps")
        }
        Subject::Length => format!("`{name}` is for texts, lists and maps; `min` and `max` limit numbers"),
        Subject::Text => format!("`{name}` is for texts"),
    }
}

/// The limit of a number is one that the type has, and a divisor is one.
fn number(limit: &Limit, kind: ArgumentKind) -> syn::Result<()> {
    let wrong = |reason: String| Err(Error::new_spanned(&limit.value, reason));
    let name = limit.key.name;
    let Some(number) = literal::number(&limit.value) else { return Ok(()) };
    if name == "multiple_of" && number <= 0.0 {
        return wrong("`multiple_of` is greater than zero".to_owned());
    }
    let ArgumentKind::Integer(integer) = kind else { return Ok(()) };
    if matches!(literal::of(&limit.value), Some(Lit::Float(_))) {
        return wrong(format!("`{}` has whole numbers only, so `{name}` is one too", integer.name));
    }
    let is_inside = (integer.min as f64..=integer.max as f64).contains(&number);
    if matches!(name, "min" | "max") && !is_inside {
        let (ty, min, max) = (integer.name, integer.min, integer.max);
        return wrong(format!(
            "`{ty}` has numbers from {min} to {max}; write one of them, or remove `{name}`"
        ));
    }
    Ok(())
}

/// All limits are about a number, or all about a text, a list or a map.
fn one_subject(limits: &Limits) -> syn::Result<()> {
    let is_number = |limit: &&Limit| limit.key.subject == Subject::Number;
    let number = limits.0.iter().find(is_number);
    let other = limits.0.iter().find(|limit| !is_number(limit));
    match (number, other) {
        (Some(number), Some(other)) => Err(Error::new(
            other.at.span(),
            format!("`{}` is for numbers and `{}` is not; remove one", number.key.name, other.key.name),
        )),
        _ => Ok(()),
    }
}

fn one_end(limits: &Limits, inside: &str, outside: &str) -> syn::Result<()> {
    match (limits.get(inside), limits.get(outside)) {
        (Some(_), Some(second)) => {
            let reason = format!("`{inside}` and `{outside}` are the same end; remove one");
            Err(Error::new(second.at.span(), reason))
        }
        _ => Ok(()),
    }
}

/// Something fits between the two ends.
fn ranges(limits: &Limits) -> syn::Result<()> {
    for (lower, is_above, upper, is_below) in RANGES {
        let (Some(first), Some(last)) = (limits.get(lower), limits.get(upper)) else { continue };
        let ends = literal::number(&first.value).zip(literal::number(&last.value));
        let Some((least, most)) = ends else { continue };
        if least > most || (least == most && (is_above || is_below)) {
            let reason = format!("nothing is between `{lower}` and `{upper}`; correct one of them");
            return Err(Error::new_spanned(&last.value, reason));
        }
    }
    Ok(())
}

/// A default that is a literal is within the limit.
fn fits(limit: &Limit, default: &Expr, kind: ArgumentKind) -> syn::Result<()> {
    let size = match limit.key.subject {
        Subject::Number => literal::number(default),
        Subject::Length if kind == ArgumentKind::Text => {
            literal::text(default).map(|text| text.chars().count() as f64)
        }
        Subject::Length | Subject::Text => None,
    };
    let Some((size, end)) = size.zip(literal::number(&limit.value)) else { return Ok(()) };
    let is_within = match limit.key.name {
        "min" | "min_length" => size >= end,
        "max" | "max_length" => size <= end,
        "above" => size > end,
        "below" => size < end,
        _ => true,
    };
    if is_within {
        return Ok(());
    }
    let reason = format!("the default is not within `{}`; correct one of them", limit.key.name);
    Err(Error::new_spanned(default, reason))
}
