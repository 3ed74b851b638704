//! Attacks: every entry of the hostile corpus by itself, several attackers at once, a generated campaign, and hostile
//! clients without a hostile guest. The long runs (soaks) of attacks are here as well.
//!
//! An attack on one capability, such as a directory or a host, is in `grants`. Clients that merely make mistakes are in
//! `mcp` and `http`. The corpus itself is in `tests/support/corpus`.

mod client_memory;
mod clients;
mod corpus;
mod disguised_arguments;
mod parallel_attacks;
mod subscriptions;
mod task_ids;
mod tasks;
