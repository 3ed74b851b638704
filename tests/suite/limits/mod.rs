//! The limits of a guest, a caller or a compiler, and that others do not wait: time, log, memory behind
//! handles, rates, large work of the server itself, fairness. Compiling with its limits and the server's code cache is
//! here, and so are instances that serve several calls.
//!
//! The corpus of attacks, with lowered limits, is in `hostile`. Quotas of directories are in `grants`, and the code
//! cache of commands is in `cli`.

mod address_space;
mod compiling;
mod fairness;
mod handle_memory;
mod instance_pool;
mod large_work;
pub(crate) mod rates;
mod time_and_logs;
