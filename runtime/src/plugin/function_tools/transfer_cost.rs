//! The memory of lifted values beyond what the engine counts.
//!
//! When the engine lifts values out of a guest, it counts the values and the bytes of names. Here a name is a string of
//! its own, and a list allocates four items as soon as it has one. So many small values take several times the memory
//! that was counted. The factor follows from the type, and the engine's limit is divided by it. A large result is
//! written on a thread for blocking work; its memory counts until it is written, and the time for writing is the
//! guest's.

use wasmtime::component::Val;

use super::ReturnType;
use super::types::{NameMap, ValType};

/// Bytes that the engine counts for a value, which are also its size without what it owns.
const VALUE: i64 = 40;

/// Size of a string without its text, bytes.
const STRING: i64 = 24;

/// Least allocation for a text, bytes.
const MIN_TEXT: usize = 32;
const TEXT: i64 = MIN_TEXT as i64;

/// Capacity of a list with one item. Then the capacity doubles.
const MIN_CAPACITY: usize = 4;

/// Largest factor; no type needs more.
const MAX_FACTOR: usize = 64;

/// Largest arguments or result that are converted in place, bytes of JSON, and most memory of arguments that is not
/// counted.
pub(super) const SMALL: usize = 64 << 10;

/// Least length of a value in JSON, with its separators, bytes.
const ITEM: usize = 4;

impl ReturnType {
    /// How many times as much memory its values may take as the engine counts.
    pub(super) fn cost_factor(&self) -> usize {
        match self {
            Self::Nothing => 1,
            Self::Value(ty) => ty.cost_factor(),
            Self::Fallible(ok, err) => max_factor([ok.as_ref(), err.as_ref()].into_iter().flatten()),
        }
    }
}

impl ValType {
    /// The same for one type. Only repeated values add up; others are one small tree.
    pub(super) fn cost_factor(&self) -> usize {
        match self {
            Self::List(inner) | Self::Fixed(inner, _) => repeated(&[&**inner]),
            Self::Map(pair) => repeated(&[&pair.0, &pair.1]),
            Self::Option(inner) => inner.cost_factor(),
            Self::Tuple(types) => max_factor(types.iter()),
            Self::Record(fields) => max_factor(fields.iter().map(|(_, ty)| ty)),
            Self::Variant(cases) => max_factor(cases.iter().filter_map(|(_, ty)| ty.as_ref())),
            Self::Result(ok, err) => max_factor([ok, err].into_iter().flatten().map(|ty| &**ty)),
            _ => 1,
        }
    }

    /// How much more a value takes, at most, than `times` what the engine counts for it, bytes. Lists in it have one
    /// item or none: with [`ValType::cost_factor`] as `times`, further items take no more than is counted.
    fn extra_bytes(&self, times: i64) -> i64 {
        let owned = match self {
            Self::String => text(1, times).max(0),
            Self::List(inner) | Self::Fixed(inner, _) => (spare(1) * VALUE + inner.extra_bytes(times)).max(0),
            Self::Tuple(types) => spare(types.len()) * VALUE + together(types.iter(), times),
            Self::Record(fields) => {
                let names: i64 = fields.iter().map(|(name, _)| STRING + text(name.len(), times)).sum();
                let values = together(fields.iter().map(|(_, ty)| ty), times);
                spare(fields.len()) * (STRING + VALUE) + names + values
            }
            Self::Variant(cases) => {
                let payload = |ty: &Option<Self>| ty.as_ref().map_or(0, |ty| ty.extra_bytes(times));
                let cases = cases.iter().map(|(name, ty)| text(name.len(), times) + payload(ty));
                cases.max().unwrap_or_default()
            }
            Self::Enum(names) => {
                names.iter().map(|(name, ())| text(name.len(), times)).max().unwrap_or_default()
            }
            Self::Option(inner) => inner.extra_bytes(times).max(0),
            Self::Result(ok, err) => {
                [ok, err].into_iter().flatten().map(|ty| ty.extra_bytes(times)).fold(0, i64::max)
            }
            Self::Flags(names) => flag_names(names, times),
            // Values that own nothing, and maps, which have no spare capacity.
            _ => 0,
        };
        VALUE - times * VALUE + owned
    }
}

fn max_factor<'s>(types: impl Iterator<Item = &'s ValType>) -> usize {
    types.map(ValType::cost_factor).max().unwrap_or(1)
}

/// The same for many items, each with one value of each type. The spare capacity of a long list is not counted: it is
/// at most one more item for each, and counting it would halve the longest list of plain items.
fn repeated(item: &[&ValType]) -> usize {
    let least = max_factor(item.iter().copied());
    let is_enough = |times: &usize| together(item.iter().copied(), *times as i64) <= 0;
    (least..MAX_FACTOR).find(is_enough).unwrap_or(MAX_FACTOR)
}

/// How much more several values take than `times` what is counted.
fn together<'s>(types: impl Iterator<Item = &'s ValType>, times: i64) -> i64 {
    types.map(|ty| ty.extra_bytes(times)).sum()
}

/// Capacity of a list of `count` items.
fn capacity(count: usize) -> i64 {
    count.next_power_of_two().max(MIN_CAPACITY) as i64
}

/// Capacity that stays unused.
fn spare(count: usize) -> i64 {
    capacity(count) - count as i64
}

/// How much more a text of so many bytes takes than `times` what is counted.
fn text(bytes: usize, times: i64) -> i64 {
    let bytes = bytes as i64;
    bytes.max(TEXT) - times * bytes
}

/// The same for flags, of which a guest may set only those with short names.
fn flag_names(names: &NameMap<()>, times: i64) -> i64 {
    let mut lengths: Vec<usize> = names.iter().map(|(name, ())| name.len()).collect();
    lengths.sort_unstable();
    let (mut texts, mut max) = (0, 0);
    for (before, length) in lengths.into_iter().enumerate() {
        texts += text(length, times);
        max = max.max(capacity(before + 1) * STRING + texts);
    }
    max
}

/// Whether a value takes long to write. Reads no more of the value than needed.
pub(super) fn is_large(val: &Val) -> bool {
    let mut remaining = SMALL;
    !fits(val, &mut remaining)
}

/// Memory that a value owns, without its own size, bytes.
pub(super) fn heap_bytes(val: &Val) -> usize {
    let text = |text: &String| if text.is_empty() { 0 } else { text.capacity().max(MIN_TEXT) };
    let boxed = |val: &Option<Box<Val>>| val.as_deref().map_or(0, |val| size_of::<Val>() + heap_bytes(val));
    match val {
        Val::String(own) | Val::Enum(own) => text(own),
        Val::Flags(names) => names.capacity() * size_of::<String>() + names.iter().map(text).sum::<usize>(),
        Val::List(vals) | Val::Tuple(vals) | Val::FixedLengthList(vals) => {
            vals.capacity() * size_of::<Val>() + vals.iter().map(heap_bytes).sum::<usize>()
        }
        Val::Map(pairs) => {
            let own: usize = pairs.iter().map(|(key, val)| heap_bytes(key) + heap_bytes(val)).sum();
            pairs.capacity() * size_of::<(Val, Val)>() + own
        }
        Val::Record(fields) => {
            let own: usize = fields.iter().map(|(name, val)| text(name) + heap_bytes(val)).sum();
            fields.capacity() * size_of::<(String, Val)>() + own
        }
        Val::Variant(case, val) => text(case) + boxed(val),
        Val::Option(val) | Val::Result(Ok(val) | Err(val)) => boxed(val),
        _ => 0,
    }
}

fn fits(val: &Val, remaining: &mut usize) -> bool {
    let own = match val {
        Val::String(text) | Val::Enum(text) | Val::Variant(text, _) => text.len(),
        Val::Flags(names) => names.iter().map(|name| ITEM + name.len()).sum(),
        Val::Record(fields) => fields.iter().map(|(name, _)| name.len()).sum(),
        _ => 0,
    };
    let Some(after) = remaining.checked_sub(ITEM + own) else { return false };
    *remaining = after;
    match val {
        Val::List(vals) | Val::Tuple(vals) | Val::FixedLengthList(vals) => {
            vals.iter().all(|val| fits(val, remaining))
        }
        Val::Map(pairs) => pairs.iter().all(|(key, val)| fits(key, remaining) && fits(val, remaining)),
        Val::Record(fields) => fields.iter().all(|(_, val)| fits(val, remaining)),
        Val::Variant(_, Some(val)) | Val::Option(Some(val)) | Val::Result(Ok(Some(val)) | Err(Some(val))) => {
            fits(val, remaining)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(names: &[&str]) -> ValType {
        ValType::Flags(names.iter().map(|name| ((*name).to_owned(), ())).collect())
    }

    fn record(fields: &[(&str, ValType)]) -> ValType {
        ValType::Record(fields.iter().map(|(name, ty)| ((*name).to_owned(), ty.clone())).collect())
    }

    fn many(ty: &ValType) -> ValType {
        ValType::List(Box::new(ty.clone()))
    }

    #[test]
    fn sets_of_short_names_are_dearest_and_a_long_one_does_not_hide_them() {
        let short: Vec<String> = (0..31).map(|at| format!("a{at}")).collect();
        let mut names: Vec<&str> = short.iter().map(String::as_str).collect();
        let cost_factor = many(&flags(&names)).cost_factor();
        assert!((10..25).contains(&cost_factor), "{cost_factor}");
        let long = "x".repeat(100_000);
        names.push(&long);
        assert_eq!(many(&flags(&names)).cost_factor(), cost_factor);
        let within = ValType::Tuple(vec![ValType::Bool, many(&flags(&names))]);
        assert_eq!(ReturnType::Fallible(Some(ValType::String), Some(within)).cost_factor(), cost_factor);
        assert_eq!((many(&flags(&[])).cost_factor(), many(&ValType::F64).cost_factor()), (1, 1));
    }

    #[test]
    fn what_occurs_once_takes_nothing_from_the_rest() {
        let names = flags(&["a", "b", "c"]);
        let page = record(&[("status", names.clone()), ("body", ValType::String)]);
        assert_eq!(ReturnType::Value(page.clone()).cost_factor(), 1);
        let failed = ValType::Variant([("no".to_owned(), Some(page))].into_iter().collect());
        assert_eq!(ReturnType::Fallible(Some(many(&ValType::Bool)), Some(failed)).cost_factor(), 1);
        let listed = record(&[("names", many(&names))]);
        assert_eq!(
            ReturnType::Value(ValType::Option(Box::new(listed))).cost_factor(),
            many(&names).cost_factor()
        );
    }

    #[test]
    fn small_values_are_dear_and_large_ones_less_so() {
        let fields = |count: usize| {
            let names = ["id", "name", "price", "stock", "since"];
            record(&names[..count].iter().map(|name| (*name, ValType::F64)).collect::<Vec<_>>())
        };
        let cost_factor = |ty: &ValType| many(ty).cost_factor();
        assert_eq!([1, 2, 4].map(|count| cost_factor(&fields(count))), [4, 3, 2]);
        let nested = record(&[("a", record(&[("b", record(&[("c", ValType::Bool)]))]))]);
        assert_eq!((cost_factor(&record(&[("c", ValType::Bool)])), cost_factor(&nested)), (5, 6));
        let lists = many(&ValType::Bool);
        assert_eq!((cost_factor(&lists), cost_factor(&many(&many(&lists)))), (3, 4));
        assert_eq!(
            (cost_factor(&ValType::String), cost_factor(&ValType::Option(Box::new(ValType::Bool)))),
            (2, 1)
        );
        let map = ValType::Map(Box::new((ValType::String, ValType::Bool)));
        assert_eq!((map.cost_factor(), cost_factor(&map)), (2, 2));
    }

    #[test]
    fn what_takes_long_to_write_is_large() {
        let list = |count| Val::List(vec![Val::Bool(true); count]);
        assert!(!is_large(&list(10_000)) && is_large(&list(20_000)));
        assert!(is_large(&Val::Option(Some(Box::new(Val::String("x".repeat(SMALL)))))));
    }
}
