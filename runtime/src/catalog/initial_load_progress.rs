//! The progress of the first load of the folder. Until it has ended the catalog is incomplete, and a request for a
//! list, or for an item that is not there, waits.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// The progress of the first load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadProgress {
    /// Files that were there at the start and have not been loaded.
    pub remaining: usize,
    /// Files that were there.
    pub total: usize,
    /// Whether all files in the code cache have been loaded, which takes milliseconds: the others have to be compiled.
    pub compiling: bool,
}

/// The first load of a folder.
#[derive(Debug)]
pub(super) struct InitialLoad {
    /// Read for every list, so not behind the lock of the channel.
    over: AtomicBool,
    progress: watch::Sender<Option<LoadProgress>>,
}

impl InitialLoad {
    /// `over`: there is nothing to load.
    pub(super) fn new(over: bool) -> Self {
        Self {
            over: AtomicBool::new(over),
            progress: watch::Sender::new((!over).then(LoadProgress::default)),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// `None`: it is over, and stays so. A loaded file wakes nobody who watches, since many requests may wait for many
    /// plugins: only the end does, and the first file to compile, which changes how long requests wait.
    pub(super) fn set(&self, progress: Option<LoadProgress>) {
        self.over.fetch_or(progress.is_none(), Ordering::Release);
        self.progress.send_if_modified(|known| {
            let Some(before) = *known else { return false };
            *known = progress;
            progress.is_none_or(|now| now.compiling != before.compiling)
        });
    }

    pub(super) fn is_compiling(&self) -> bool {
        self.progress.borrow().is_some_and(|progress| progress.compiling)
    }

    pub(super) fn watch(&self) -> watch::Receiver<Option<LoadProgress>> {
        self.progress.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_look_is_over_once_and_for_all() {
        let load = InitialLoad::new(false);
        let mut watch = load.watch();
        assert!(!load.is_compiling());
        let progress = Some(LoadProgress { remaining: 1, total: 2, compiling: true });
        load.set(progress);
        assert_eq!((load.is_over(), load.is_compiling(), *watch.borrow()), (false, true, progress));
        assert!(watch.has_changed().unwrap(), "it compiles now");
        watch.mark_unchanged();
        let progress = Some(LoadProgress { remaining: 0, total: 2, compiling: true });
        load.set(progress);
        assert_eq!((watch.has_changed().unwrap(), *watch.borrow()), (false, progress));
        load.set(None);
        assert!(watch.has_changed().unwrap());
        load.set(Some(LoadProgress { remaining: 2, total: 2, compiling: true }));
        assert_eq!((load.is_over(), *watch.borrow()), (true, None));
        assert!(InitialLoad::new(true).is_over());
    }
}
