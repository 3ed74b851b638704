//! Attacks: every entry of the hostile corpus by itself, several attackers at once, a generated campaign, and clients that
//! attack without a guest's help, on memory and connections too. Soaks of attacks are here as well.
//!
//! An attack on one capability, such as a directory or a host, is in `grants`. Clients that merely make mistakes are in `mcp`
//! and `http`. The corpus itself is in `tests/support/corpus`.

mod client_memory;
mod clients;
mod corpus;
mod parallel_attacks;
