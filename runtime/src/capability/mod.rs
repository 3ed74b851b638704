//! What a plugin may use outside the sandbox: a folder for each capability, and their table.
//!
//! A folder has the capability's grant (`grant`: what the operator writes in `plugport.toml`), its policy (`policy`: pure functions
//! that say what is allowed, where there is more to say than "granted or not") and its host functions (`host`). Host functions are
//! thin: they charge the guest, look at their own small state and pass on.
//!
//! A capability lives three times, and `lifetimes` names them: linked once, per plugin, per instance. What all of them share is in
//! `context`; what needs no grant is in `ungranted`; what sampling, elicitation and roots share is in `client_requests`.
//!
//! Grants and policies are a layer of their own, below `config`, which reads `plugport.toml` through the same table: they must not
//! know wasmtime, nor anything else of this folder.

/// The table of capabilities: the folder of each, and the type that links and serves it. The order is that of everything that is
/// shown of them.
macro_rules! capabilities {
    ($make:ident) => {
        $make! {
            /// Directories, each under a guest path of its own.
            filesystem Filesystem;
            /// Requests to hosts.
            http Http;
            /// Nothing: sockets are never granted.
            sockets Sockets;
            /// What it may keep between calls.
            keyvalue KeyValue;
            /// Settings and secrets that it may read.
            config Config;
            /// Variables of its environment.
            env Env;
            /// How much it may ask the client's model.
            sampling Sampling;
            /// Whether it may ask the user at the client.
            elicitation Elicitation;
            /// Whether it may see the client's roots, and which of them it may read.
            roots Roots;
        }
    };
}

mod client_requests;
mod config;
mod context;
mod elicitation;
mod env;
mod filesystem;
pub mod grant;
pub mod grants;
mod http;
mod inputs;
mod keyvalue;
mod lifetimes;
mod roots;
mod sampling;
mod sockets;
mod ungranted;

pub use context::current_call::Call;
pub(crate) use context::current_call::StaleCallHandle;
pub use context::error::HostCallError;
pub(crate) use context::error::LimitTrap;
pub(crate) use context::instance_ctx::InstanceCtx;
pub(crate) use context::plugin_ctx::{PluginCtx, ServerCtx};
pub use keyvalue::{Bucket, Cas};
pub(crate) use lifetimes::add_to_linker;
pub(crate) use sampling::PluginBudgets;
pub use ungranted::{PendingChanges, PluginChanges};

#[cfg(test)]
mod tests;
