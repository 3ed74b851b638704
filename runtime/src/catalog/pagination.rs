//! Pages of a list.
//!
//! A cursor has the id of its list, which depends on the list's items, and a position. When the list has changed, the
//! cursor is rejected and the client starts again, so that it misses no item.

/// One page.
#[derive(Debug, PartialEq, Eq)]
pub struct Page<'a, T> {
    /// Where it begins in its list.
    pub start: usize,
    /// The items on it.
    pub items: &'a [T],
    list: u64,
    is_last: bool,
}

/// A cursor that this catalog did not make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor is unknown or the list has changed since; start again without a cursor")]
pub struct InvalidCursor;

impl<'a, T> Page<'a, T> {
    /// The page of `all` at `cursor`, or the first.
    ///
    /// # Errors
    /// When the cursor belongs to another list or was not made here.
    pub fn at(cursor: Option<&str>, all: &'a [T], list: u64, size: usize) -> Result<Self, InvalidCursor> {
        let start = cursor.map_or(Ok(0), |cursor| read(cursor, list))?;
        if start > 0 && (start >= all.len() || start % size != 0) {
            return Err(InvalidCursor);
        }
        let end = all.len().min(start + size);
        let (items, is_last) = (all.get(start..end).unwrap_or_default(), end == all.len());
        Ok(Page { start, items, list, is_last })
    }

    /// The cursor of the next page, if there is one.
    #[must_use]
    pub fn next_cursor(&self) -> Option<String> {
        (!self.is_last).then(|| write(self.list, self.start + self.items.len()))
    }
}

fn write(list: u64, position: usize) -> String {
    format!("{list:016x}-{position:x}")
}

fn read(cursor: &str, list: u64) -> Result<usize, InvalidCursor> {
    let (_, position) = cursor.split_once('-').ok_or(InvalidCursor)?;
    let position = usize::from_str_radix(position, 16).map_err(|_| InvalidCursor)?;
    // No other spelling of the same cursor is valid.
    if position > 0 && cursor == write(list, position) { Ok(position) } else { Err(InvalidCursor) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_to_the_end() {
        let all = [1, 2, 3, 4, 5];
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let page = Page::at(cursor.as_deref(), &all, 7, 2).unwrap();
            assert_eq!(page.start, seen.len());
            seen.extend_from_slice(page.items);
            cursor = page.next_cursor();
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, all);
    }

    #[test]
    fn stale_and_forged_cursors_are_rejected() {
        let all = [1, 2, 3];
        let next = Page::at(None, &all, 7, 2).unwrap().next_cursor().unwrap();
        assert_eq!(Page::at(Some(&next), &all, 8, 2), Err(InvalidCursor));
        for forged in [
            "",
            "x",
            "7-2",
            "0000000000000007-1",
            "0000000000000007-0",
            "0000000000000007-+2",
            "0000000000000007-02",
            "0000000000000007-ff",
        ] {
            let page = Page::at(Some(forged), &all, 7, 2);
            assert!(page.is_err() || forged == "7-2", "{forged}: {page:?}");
        }
    }

    #[test]
    fn an_empty_list_has_one_empty_page() {
        let page: Page<'_, u8> = Page::at(None, &[], 7, 2).unwrap();
        assert!(page.items.is_empty() && page.next_cursor().is_none(), "{page:?}");
    }
}
