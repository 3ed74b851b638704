//! A small table by names that are literals of this program, such as those of limits and methods.
//!
//! A look-up takes no lock: a name has the first slot that was free when it came first, and keeps it. Names are
//! `&'static str`, so text of a client or a guest is never one.

use std::sync::OnceLock;

use super::labels::OTHER;

/// A table of at most `N` names; all further names have one value together.
#[derive(Debug)]
pub(super) struct NameTable<V, const N: usize> {
    slots: [OnceLock<(&'static str, V)>; N],
    other: V,
}

impl<V, const N: usize> NameTable<V, N> {
    pub(super) fn new(other: V) -> Self {
        Self { slots: [const { OnceLock::new() }; N], other }
    }

    /// The value of a name, which `make` makes when the name comes first.
    pub(super) fn get(&self, name: &'static str, make: impl Fn(&'static str) -> V) -> &V {
        for slot in &self.slots {
            let (known, value) = slot.get_or_init(|| (name, make(name)));
            if *known == name {
                return value;
            }
        }
        &self.other
    }

    /// The names that came, and the value of all others.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &V)> {
        let known = self.slots.iter().filter_map(|slot| slot.get().map(|(name, value)| (*name, value)));
        known.chain(std::iter::once((OTHER, &self.other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn threads_that_bring_the_same_names_find_the_same_values() {
        let names = ["a", "b", "c", "d"];
        let table = NameTable::<AtomicU64, 3>::new(AtomicU64::new(0));
        std::thread::scope(|scope| {
            for first in 0..4 {
                let table = &table;
                scope.spawn(move || {
                    for at in 0..4_000 {
                        let name = names[(first + at) % 4];
                        table.get(name, |_| AtomicU64::new(0)).fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        let mut counts: Vec<_> =
            table.iter().map(|(name, count)| (name, count.load(Ordering::Relaxed))).collect();
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 16_000);
        assert_eq!(counts.pop(), Some((OTHER, 4_000)), "the name that came last has no slot");
        assert!(counts.iter().all(|(_, count)| *count == 4_000), "{counts:?}");
    }
}
