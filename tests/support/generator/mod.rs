//! Attacks that nobody thought of: components and calls that a seed decides, run against a real server beside a neighbour.
//!
//! What is asserted is what every attack of the corpus has to keep. Whatever it finds becomes an entry of the corpus, with a
//! shape of its own, since a seed means something else as soon as the generator learns more.

mod campaign;
mod passing;
mod random;
mod shapes;
mod values;

pub use campaign::{Campaign, Found};
pub use passing::{Passing, Way};
pub use random::Random;
pub use shapes::{attack, passing};
pub use values::{ENCODINGS, Encoding, What};
