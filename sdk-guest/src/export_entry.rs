//! One entry of a list that `export!` makes: a name, and the functions of the item with this name.

/// A name and the functions of its item.
#[derive(Debug, Clone, Copy)]
pub struct ExportEntry<F> {
    pub(crate) name: &'static str,
    pub(crate) functions: F,
}

/// Whether every entry has a name of its own.
pub const fn names_differ<F>(entries: &[ExportEntry<F>]) -> bool {
    let mut rest = entries;
    while let [first, others @ ..] = rest {
        if contains(others, first.name) {
            return false;
        }
        rest = others;
    }
    true
}

/// Whether a name is in a list.
pub const fn has(names: &[&str], name: &str) -> bool {
    match names {
        [] => false,
        [first, others @ ..] => same(first.as_bytes(), name.as_bytes()) || has(others, name),
    }
}

const fn contains<F>(entries: &[ExportEntry<F>], name: &str) -> bool {
    match entries {
        [] => false,
        [first, others @ ..] => same(first.name.as_bytes(), name.as_bytes()) || contains(others, name),
    }
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    match (a, b) {
        ([], []) => true,
        ([x, a @ ..], [y, b @ ..]) => *x == *y && same(a, b),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn entry(name: &'static str) -> ExportEntry<()> {
        ExportEntry { name, functions: () }
    }

    #[test]
    fn names_are_compared_whole() {
        assert!(names_differ(&[entry("one"), entry("on"), entry("")]));
        assert!(!names_differ(&[entry("one"), entry("two"), entry("one")]));
        assert!(has(&["a", "b"], "b") && !has(&["ab"], "a") && !has(&[], ""));
    }
}
