//! A list is walked from its first page to its last without a gap, and a cursor is accepted exactly when walking
//! exactly this list issued it.

use std::collections::HashSet;

use plugport::catalog::Page;

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "cursors",
    check,
    words: &["0000000000000007-", "0000000000000007-2", "+", "-", "0x", "ffffffffffffffff-"],
};

/// The size of a page, the length of a list, which list, and a cursor.
fn check(input: &[u8]) {
    let [size, length, list, change, cursor @ ..] = input else { return };
    let (size, list) = (usize::from(size % 8) + 1, u64::from(*list));
    let all: Vec<u8> = (0..*length).collect();
    let given = walk(&all, list, size);
    let given_out: HashSet<&str> = given.iter().map(String::as_str).collect();
    let cursor = String::from_utf8_lossy(cursor);
    let taken = Page::at(Some(&cursor), &all, list, size).is_ok();
    assert_eq!(taken, given_out.contains(&*cursor), "{cursor:?} of {given:?}");
    if let Some(given) = given.get(usize::from(*change) % given.len().max(1)) {
        assert!(Page::at(Some(given), &all, list + 1, size).is_err(), "{given} is of another list");
        let mut changed = given.clone().into_bytes();
        let at = usize::from(*change) % changed.len();
        changed[at] ^= 1 << (change % 7);
        let changed = String::from_utf8_lossy(&changed);
        let known = given_out.contains(&*changed);
        assert_eq!(Page::at(Some(&changed), &all, list, size).is_ok(), known, "{given} became {changed}");
    }
}

/// Reads all pages, and returns their cursors.
fn walk(all: &[u8], list: u64, size: usize) -> Vec<String> {
    let mut seen = Vec::new();
    let mut given = Vec::new();
    loop {
        let page = Page::at(given.last().map(String::as_str), all, list, size).unwrap();
        assert!(page.items.len() <= size && (page.items.len() == size || page.next_cursor().is_none()));
        seen.extend_from_slice(page.items);
        match page.next_cursor() {
            Some(next) => given.push(next),
            None => break,
        }
    }
    assert_eq!(seen, all);
    given
}
