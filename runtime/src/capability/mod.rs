//! What a plugin may use outside the sandbox: a folder for each capability, with its grant (`grant`, what the operator writes in
//! `plugport.toml`) and its policy (`policy`, pure functions that say what is allowed).

/// The table of capabilities: the folder of each, and the type that links and serves it. The order is that of everything that is
/// shown of them.
macro_rules! capabilities {
    ($make:ident) => {
        $make! {
            /// Directories, each under a guest path of its own.
            filesystem Filesystem;
            /// Requests to hosts.
            http Http;
            /// What it may keep between calls.
            keyvalue KeyValue;
            /// Settings and secrets that it may read.
            config Config;
            /// Variables of its environment.
            env Env;
            /// How much it may ask the client's model.
            sampling Sampling;
            /// Whether it may ask the person at the client.
            elicitation Elicitation;
            /// Whether it may see the client's roots, and which of them it may read.
            roots Roots;
        }
    };
}

mod config;
mod elicitation;
mod env;
mod filesystem;
pub(crate) mod grants;
mod http;
mod keyvalue;
mod roots;
mod sampling;
