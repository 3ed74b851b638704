//! The pages of a list as the layer above wrote them, so that a page is written once and not for each request.
//!
//! The pages belong to their list. So no caller gets a page of another view, and all of them are dropped with their
//! snapshot or view. Pages, variants and views multiply, and clients choose what they request: therefore a snapshot and
//! all its views share one [`PageBudget`]. The next snapshot shares it too, because a request may still read the one
//! before. A page that finds no space in it is written for each request. No page is evicted for another, since the
//! client that requests most would then evict the pages of all others.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;

/// Most bytes of pages that a catalog keeps.
pub(crate) const MAX_PAGE_BYTES: usize = 16 << 20;

/// Bytes of a page besides its text.
const OVERHEAD: usize = 128;

/// A page of one list, in one variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PageKey {
    /// Where the page begins in its list.
    pub(crate) start: usize,
    /// The items on it.
    pub(crate) items: usize,
    /// Clients of other revisions get other bytes; the layer above numbers these variants.
    pub(crate) variant: u8,
}

/// Bounds the pages of a snapshot, of all its views, and of the snapshots made from it, by the bytes that are in use.
#[derive(Debug, Default)]
pub(crate) struct PageBudget(AtomicUsize);

/// The pages of one list.
#[derive(Debug)]
pub(super) struct PageCache {
    pages: Mutex<HashMap<PageKey, Bytes>>,
    budget: Arc<PageBudget>,
}

fn cost(page: &Bytes) -> usize {
    page.len() + OVERHEAD
}

impl PageBudget {
    fn reserve(&self, bytes: usize) -> bool {
        let after = |used: usize| used.checked_add(bytes).filter(|used| *used <= MAX_PAGE_BYTES);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).is_ok()
    }

    fn release(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl PageCache {
    pub(super) fn new(budget: &Arc<PageBudget>) -> Self {
        Self { pages: Mutex::default(), budget: Arc::clone(budget) }
    }

    /// No pages yet, for a view of the same snapshot.
    pub(super) fn for_view(&self) -> Self {
        Self::new(&self.budget)
    }

    /// The page of this key; `write` writes it if no request has needed it yet.
    pub(super) fn get_or_write<E>(
        &self,
        key: PageKey,
        write: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        let known = self.pages.lock().get(&key).cloned();
        match known {
            Some(page) => Ok(page),
            // Without the lock: another request may write the same page meanwhile, which is the same work once more.
            None => Ok(self.insert(key, write()?)),
        }
    }

    fn insert(&self, key: PageKey, page: Bytes) -> Bytes {
        match self.pages.lock().entry(key) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(vacant) => {
                if self.budget.reserve(cost(&page)) {
                    vacant.insert(page.clone());
                }
                page
            }
        }
    }
}

impl Drop for PageCache {
    fn drop(&mut self) {
        self.budget.release(self.pages.get_mut().values().map(cost).sum());
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const FIRST: PageKey = PageKey { start: 0, items: 2, variant: 0 };

    fn get(pages: &PageCache, key: PageKey, text: &[u8]) -> Bytes {
        pages.get_or_write(key, || Ok::<_, Infallible>(Bytes::copy_from_slice(text))).unwrap()
    }

    #[test]
    fn a_page_is_written_once() {
        let pages = PageCache::new(&Arc::default());
        assert_eq!(pages.get_or_write(FIRST, || Err("fails")), Err("fails"));
        let first = get(&pages, FIRST, b"first");
        assert_eq!(get(&pages, FIRST, b"again").as_ptr(), first.as_ptr());
        for (key, text) in [
            (PageKey { start: 2, ..FIRST }, b"second page"),
            (PageKey { items: 1, ..FIRST }, b"other pages"),
            (PageKey { variant: 1, ..FIRST }, b"other bytes"),
        ] {
            assert_eq!(get(&pages, key, text), text.as_slice());
        }
    }

    #[test]
    fn all_pages_together_are_bounded_and_give_back_what_they_took() {
        let budget = Arc::new(PageBudget::default());
        let used = || budget.0.load(Ordering::Relaxed);
        let (pages, page) = (PageCache::new(&budget), vec![b'x'; MAX_PAGE_BYTES / 3]);
        for start in 0..2 {
            get(&pages, PageKey { start, ..FIRST }, &page);
        }
        let view = pages.for_view();
        let beyond = get(&view, FIRST, &page);
        assert_ne!(get(&view, FIRST, &page).as_ptr(), beyond.as_ptr(), "there was no space for it");
        assert_eq!(used(), 2 * (page.len() + OVERHEAD));
        drop(pages);
        assert_eq!(used(), 0);
        let within = get(&view, FIRST, &page);
        assert_eq!(get(&view, FIRST, &page).as_ptr(), within.as_ptr());
        drop(view);
        assert_eq!(used(), 0);
    }
}
