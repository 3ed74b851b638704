//! The interface `changes`: tells the host that lists or resources have changed.
//!
//! The host lists again and notifies clients, so a plugin only says what changed, from within any call. Outside of a
//! component [`testing::changes`](crate::testing::changes) records the changes.

use crate::Call;

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of resources or of templates.
    Resources,
    /// The list of prompts.
    Prompts,
    /// The content of the resource of this URI.
    Resource(String),
}

impl Call {
    /// Says what changed. The functions of [`notify`](crate::notify) do the same without a call.
    ///
    /// ```
    /// use plugport_sdk::notify::Change;
    ///
    /// # let call = plugport_sdk::testing::call();
    /// call.notify(Change::Resource("notes:///today".to_owned()));
    /// assert_eq!(plugport_sdk::testing::changes().len(), 1);
    /// ```
    pub fn notify(&self, change: Change) {
        tell(change);
    }
}

/// Says that the list of tools has changed.
pub fn tools_changed() {
    tell(Change::Tools);
}

/// Says that the list of resources or of resource templates has changed.
pub fn resources_changed() {
    tell(Change::Resources);
}

/// Says that the list of prompts has changed.
pub fn prompts_changed() {
    tell(Change::Prompts);
}

/// Says that the content of this resource has changed. The host notifies the clients that subscribed to it.
pub fn resource_updated(uri: impl Into<String>) {
    tell(Change::Resource(uri.into()));
}

#[cfg(target_family = "wasm")]
fn tell(change: Change) {
    use crate::bindings::changes::{Listing, list_changed, resource_updated};
    match change {
        Change::Tools => list_changed(Listing::Tools),
        Change::Resources => list_changed(Listing::Resources),
        Change::Prompts => list_changed(Listing::Prompts),
        Change::Resource(uri) => resource_updated(&uri),
    }
}

#[cfg(not(target_family = "wasm"))]
pub(crate) use record::{take, tell};

/// Per thread, as tests are.
#[cfg(not(target_family = "wasm"))]
mod record {
    use super::Change;
    use std::cell::RefCell;

    thread_local! {
        static TOLD: RefCell<Vec<Change>> = const { RefCell::new(Vec::new()) };
    }

    pub(crate) fn tell(change: Change) {
        TOLD.with_borrow_mut(|told| told.push(change));
    }

    pub(crate) fn take() -> Vec<Change> {
        TOLD.take()
    }
}
