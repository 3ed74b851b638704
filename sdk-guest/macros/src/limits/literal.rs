//! Literals with and without a sign.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Expr, ExprLit, ExprUnary, Lit, LitInt, UnOp};

/// The literal of an expression, without its sign; `None` if it is another expression.
pub(super) fn of(value: &Expr) -> Option<&Lit> {
    match value {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => of(expr),
        _ => None,
    }
}

/// The number that a literal stands for.
pub(super) fn number(value: &Expr) -> Option<f64> {
    match value {
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => number(expr).map(|number| -number),
        _ => match of(value)? {
            Lit::Int(whole) => whole.base10_digits().parse().ok(),
            Lit::Float(float) => float.base10_parse().ok(),
            _ => None,
        },
    }
}

/// The text that a literal stands for.
pub(super) fn text(value: &Expr) -> Option<String> {
    match of(value)? {
        Lit::Str(text) => Some(text.value()),
        _ => None,
    }
}

/// The expression, in which a whole number has a type that is large enough. Rust would take `i32`.
pub(super) fn suffixed(value: &Expr) -> TokenStream {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Int(whole), .. }) if whole.suffix().is_empty() => {
            let suffix = if whole.base10_parse::<i64>().is_ok() { "i64" } else { "u64" };
            let digits = whole.base10_digits();
            LitInt::new(&format!("{digits}{suffix}"), whole.span()).into_token_stream()
        }
        Expr::Unary(ExprUnary { op: op @ UnOp::Neg(_), expr, .. }) => {
            let number = suffixed(expr);
            quote! { #op #number }
        }
        other => other.to_token_stream(),
    }
}
