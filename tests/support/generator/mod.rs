//! Generated attacks: components and calls from a seed, run against a real server beside a neighbour.
//!
//! The assertions are those of the corpus. Each finding becomes an entry of the corpus with a component of its own,
//! since a seed means something else as soon as the generator changes.

mod adapters;
mod campaign;
mod components;
mod random;
mod values;

pub use adapters::{AdapterComponent, Direction};
pub use campaign::{Campaign, CampaignReport};
pub use components::{random_adapter, random_call};
pub use random::Random;
pub use values::{ENCODINGS, Encoding, PassedValue};
