//! Whether the folder has been looked at once: until then, what is offered is less than what will be, and whoever asks for a
//! list, or for something that is not there, had better wait.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// How far the first look is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Begun {
    /// Files that were there at the start and have not been looked into.
    pub left: usize,
    /// Files that were there.
    pub of: usize,
    /// Whether all that was compiled before has been looked into, which takes milliseconds: what is left has to be compiled.
    pub compiling: bool,
}

/// The first look at a folder.
#[derive(Debug)]
pub(super) struct Start {
    /// Asked for with every list, and so not behind the lock of the channel.
    over: AtomicBool,
    begun: watch::Sender<Option<Begun>>,
}

impl Start {
    /// Nobody has looked yet, or nobody has to.
    pub(super) fn new(over: bool) -> Self {
        Self { over: AtomicBool::new(over), begun: watch::Sender::new((!over).then(Begun::default)) }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// `None`: it is over, and stays so.
    pub(super) fn set(&self, begun: Option<Begun>) {
        self.over.fetch_or(begun.is_none(), Ordering::Release);
        self.begun.send_if_modified(|known| {
            let news = known.is_some() && *known != begun;
            if news {
                *known = begun;
            }
            news
        });
    }

    pub(super) fn is_compiling(&self) -> bool {
        self.begun.borrow().is_some_and(|begun| begun.compiling)
    }

    pub(super) fn watch(&self) -> watch::Receiver<Option<Begun>> {
        self.begun.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_look_is_over_once_and_for_all() {
        let start = Start::new(false);
        let watch = start.watch();
        assert!(!start.is_compiling());
        let begun = Some(Begun { left: 1, of: 2, compiling: true });
        start.set(begun);
        assert_eq!((start.is_over(), start.is_compiling(), *watch.borrow()), (false, true, begun));
        start.set(None);
        start.set(Some(Begun { left: 2, of: 2, compiling: true }));
        assert_eq!((start.is_over(), *watch.borrow()), (true, None));
        assert!(Start::new(true).is_over());
    }
}
