//! The request that an instance serves now, by a number that no other request of this instance has or had.
//!
//! Some guests never give their handle back, and one that keeps it would find the next request behind it if its number were
//! used again, as the numbers of the resource table are. So these are counted and not looked for, and a number answers
//! only while its request is served.

use wasmtime::component::Resource;

use super::Call;

/// A guest kept the handle of a request beyond its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this handle is of a request that has been answered")]
pub(crate) struct Answered;

/// The requests of one instance, one after the other.
#[derive(Default)]
pub(crate) struct Calls {
    /// How many there were; the number of the last.
    count: u32,
    now: Option<Call>,
}

impl Calls {
    /// Begins a request; the one before it is over. Its handle is the guest's.
    pub(crate) fn begin(&mut self, call: Call) -> Resource<Call> {
        self.count = self.count.saturating_add(1);
        self.now = Some(call);
        Resource::new_own(self.count)
    }

    /// The request is over, whether or not the guest gave its handle back.
    pub(super) fn end(&mut self) {
        self.now = None;
    }

    pub(super) fn get(&self, handle: &Resource<Call>) -> Result<&Call, Answered> {
        self.now.as_ref().filter(|_| handle.rep() == self.count).ok_or(Answered)
    }

    pub(super) fn get_mut(&mut self, handle: &Resource<Call>) -> Result<&mut Call, Answered> {
        self.now.as_mut().filter(|_| handle.rep() == self.count).ok_or(Answered)
    }

    /// The guest gives a handle back, perhaps an old one.
    pub(super) fn give_back(&mut self, handle: &Resource<Call>) {
        if handle.rep() == self.count {
            self.now = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;
    use crate::host::NoClient;
    use std::sync::Arc;

    fn call() -> Call {
        Call::new(Arc::new(NoClient), &Limits::default())
    }

    #[test]
    fn a_handle_answers_while_its_request_is_served_and_never_for_another() {
        let mut calls = Calls::default();
        let first = calls.begin(call());
        assert!(calls.get(&first).is_ok() && calls.get_mut(&first).is_ok());
        calls.end();
        assert_eq!(calls.get(&first).err(), Some(Answered));
        let second = calls.begin(call());
        assert_ne!(first.rep(), second.rep());
        assert!(calls.get(&first).is_err() && calls.get_mut(&first).is_err() && calls.get(&second).is_ok());
        calls.give_back(&first);
        assert!(calls.get(&second).is_ok(), "giving back an old one ends nothing");
        calls.give_back(&second);
        assert!(calls.get(&second).is_err());
    }
}
