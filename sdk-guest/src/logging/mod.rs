//! From the logging crates that Rust authors know to the client's log.
//!
//! A tool's dependencies log through `log` or `tracing`, which have one receiver for the whole program and know of no
//! call. So the call that runs is remembered per thread while it runs; a record outside of a call has nobody to go to
//! and is dropped. A receiver that the author installed before stays in place.

use std::cell::RefCell;
use std::rc::Rc;

use crate::Call;
use crate::call::CallBackend;

#[cfg(feature = "log")]
mod log;
#[cfg(feature = "tracing")]
mod tracing;

thread_local! {
    static CURRENT: RefCell<Option<Rc<CallBackend>>> = const { RefCell::new(None) };
}

/// Ends the attachment when dropped, and puts back what was attached before.
pub(crate) struct AttachGuard {
    before: Option<Rc<CallBackend>>,
}

/// Sends what this thread logs to this call.
pub(crate) fn attach(call: &Call) -> AttachGuard {
    #[cfg(feature = "log")]
    log::install();
    #[cfg(feature = "tracing")]
    tracing::install();
    AttachGuard { before: CURRENT.replace(Some(Rc::clone(call.backend()))) }
}

impl Drop for AttachGuard {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}

/// The call that runs on this thread. The borrow has ended when this returns, so a backend may log as well.
#[cfg(any(feature = "log", feature = "tracing"))]
fn current() -> Option<Rc<CallBackend>> {
    // Destructors of other thread-locals may still log when this one is gone.
    CURRENT.try_with(|current| current.borrow().clone()).ok()?
}
