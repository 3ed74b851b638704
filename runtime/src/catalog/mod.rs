//! What is offered right now.
//!
//! An immutable [`Snapshot`] behind an atomic pointer: a request takes the snapshot once and keeps what it took, a
//! publisher builds a new one beside it and swaps. No lock is held across a call, and no caller sees half a change.
//! Vets what plugins say of themselves; never calls a guest.

mod effort;
mod entry;
mod naming;
mod paging;
mod schema;
mod snapshot;
mod vetting;

use std::sync::Arc;

use arc_swap::ArcSwap;

pub use entry::{Entry, PublishedTool, Refused};
pub use naming::{NameError, plugin_name};
pub use paging::{BadCursor, Page};
pub use schema::{Mismatch, Schema, SchemaError};
pub use snapshot::Snapshot;

/// The published snapshot.
#[derive(Debug)]
pub struct Catalog {
    current: ArcSwap<Snapshot>,
    changes: tokio::sync::broadcast::Sender<Change>,
}

/// Something that is offered has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of resources, or of templates.
    Resources,
    /// The list of prompts.
    Prompts,
    /// The contents of a resource.
    Updated(Arc<str>),
}

impl Change {
    /// Changes of lists.
    pub const LISTS: [Self; 3] = [Self::Tools, Self::Resources, Self::Prompts];
}

impl Catalog {
    /// Starts with a first snapshot.
    #[must_use]
    pub fn new(first: Snapshot) -> Self {
        Self { current: ArcSwap::from_pointee(first), changes: tokio::sync::broadcast::channel(256).0 }
    }

    /// What is offered now.
    #[must_use]
    pub fn current(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// What changes from now on.
    #[must_use]
    pub fn changes(&self) -> tokio::sync::broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}
