//! Attacks that nobody thought of: components and calls that a seed decides, run against a real server beside a neighbour.
//!
//! What is asserted is what every attack of the corpus has to keep. Whatever it finds becomes an entry of the corpus, with a
//! shape of its own, since a seed means something else as soon as the generator learns more.

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
