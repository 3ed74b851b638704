//! What values cost beyond what the engine counts.
//!
//! The engine counts what it lifts out of a guest by the values themselves, and of a name its letters. Here a name is a
//! string of its own, so types with many names take several times what was counted, and what the engine may count is
//! divided by that. Nobody counts the time that writing takes; what is large is written where it holds up nobody.

use wasmtime::component::Val;

use super::Answer;
use super::shape::{Named, Shape};

/// What a value is counted as, bytes.
const VALUE: usize = 40;

/// What a name of a set takes beside its letters, bytes.
const NAME: usize = 56;

/// A record has a name beside each field.
const RECORD: usize = 3;

/// The name of one case.
const CASE: usize = 2;

/// What is written without leaving the task, bytes.
pub(super) const SMALL: usize = 64 << 10;

/// The least that a value has in JSON, with what is around it.
const ITEM: usize = 4;

impl Answer {
    /// How many times as much its values may take as the engine counts.
    pub(super) fn dear(&self) -> usize {
        match self {
            Self::Nothing => 1,
            Self::Value(shape) => shape.dear(),
            Self::Fallible(ok, err) => most([ok.as_ref(), err.as_ref()].into_iter().flatten()),
        }
    }
}

impl Shape {
    /// The same for one type. No mixture of values is dearer than the dearest in it.
    pub(super) fn dear(&self) -> usize {
        match self {
            Self::List(inner) | Self::Fixed(inner, _) | Self::Option(inner) => inner.dear(),
            Self::Map(pair) => pair.0.dear().max(pair.1.dear()),
            Self::Tuple(shapes) => most(shapes.iter()),
            Self::Record(fields) => most(fields.iter().map(|(_, shape)| shape)).max(RECORD),
            Self::Variant(cases) => most(cases.iter().filter_map(|(_, shape)| shape.as_ref())).max(CASE),
            Self::Enum(_) => CASE,
            Self::Result(ok, err) => most([ok, err].into_iter().flatten().map(|shape| &**shape)),
            Self::Flags(names) => of_set(names),
            _ => 1,
        }
    }
}

fn most<'s>(shapes: impl Iterator<Item = &'s Shape>) -> usize {
    shapes.map(Shape::dear).max().unwrap_or(1)
}

/// A guest may set those flags alone whose names are short.
fn of_set(names: &Named<()>) -> usize {
    let mut lengths: Vec<usize> = names.iter().map(|(name, ())| name.len()).collect();
    lengths.sort_unstable();
    let (mut counted, mut taken, mut dear) = (VALUE, VALUE, 1);
    for length in lengths {
        counted += length;
        taken += NAME + length;
        dear = taken.div_ceil(counted).max(dear);
    }
    dear
}

/// Whether a value takes long to write. Looks no further than it takes to know.
pub(super) fn is_large(val: &Val) -> bool {
    let mut left = SMALL;
    !fits(val, &mut left)
}

fn fits(val: &Val, left: &mut usize) -> bool {
    let own = match val {
        Val::String(text) | Val::Enum(text) | Val::Variant(text, _) => text.len(),
        Val::Flags(names) => names.iter().map(|name| ITEM + name.len()).sum(),
        Val::Record(fields) => fields.iter().map(|(name, _)| name.len()).sum(),
        _ => 0,
    };
    let Some(rest) = left.checked_sub(ITEM + own) else { return false };
    *left = rest;
    match val {
        Val::List(vals) | Val::Tuple(vals) | Val::FixedLengthList(vals) => {
            vals.iter().all(|val| fits(val, left))
        }
        Val::Map(pairs) => pairs.iter().all(|(key, val)| fits(key, left) && fits(val, left)),
        Val::Record(fields) => fields.iter().all(|(_, val)| fits(val, left)),
        Val::Variant(_, Some(val)) | Val::Option(Some(val)) | Val::Result(Ok(Some(val)) | Err(Some(val))) => {
            fits(val, left)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(names: &[&str]) -> Shape {
        Shape::Flags(names.iter().map(|name| ((*name).to_owned(), ())).collect())
    }

    #[test]
    fn sets_of_short_names_are_dearest_and_a_long_one_does_not_hide_them() {
        let short: Vec<String> = (0..31).map(|at| format!("a{at}")).collect();
        let mut names: Vec<&str> = short.iter().map(String::as_str).collect();
        let dear = flags(&names).dear();
        assert!((10..25).contains(&dear), "{dear}");
        let long = "x".repeat(100_000);
        names.push(&long);
        assert_eq!(flags(&names).dear(), dear);
        let within = Shape::Tuple(vec![Shape::Bool, Shape::List(Box::new(flags(&names)))]);
        assert_eq!(Answer::Fallible(Some(Shape::String), Some(within)).dear(), dear);
        assert_eq!((flags(&[]).dear(), Shape::F64.dear()), (1, 1));
        assert_eq!(Shape::Record(vec![("a".to_owned(), Shape::Bool)]).dear(), RECORD);
    }

    #[test]
    fn what_takes_long_to_write_is_large() {
        let list = |count| Val::List(vec![Val::Bool(true); count]);
        assert!(!is_large(&list(10_000)) && is_large(&list(20_000)));
        assert!(is_large(&Val::Option(Some(Box::new(Val::String("x".repeat(SMALL)))))));
    }
}
