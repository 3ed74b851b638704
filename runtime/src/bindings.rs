//! What `bindgen!` makes of `wit/plugin.wit`, and nothing else. Only `plugin` and `capability` may use it.

#![allow(missing_docs, reason = "generated; wit/plugin.wit has the documentation")]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "plugin",
    imports: {
        // Every call ends with it, and it has nothing to wait for.
        "plugport:plugin/request.[drop]call": trappable,
        default: async | trappable,
    },
    exports: { default: async },
    with: { "plugport:plugin/request.call": crate::capability::Call },
    trappable_error_type: { "plugport:plugin/types.error" => crate::capability::HostCallError },
});

/// The standard interface for values stored between calls.
pub(crate) mod keyvalue {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "keyvalue",
        imports: { default: async | trappable },
        with: {
            "wasi:keyvalue/store.bucket": crate::capability::Bucket,
            "wasi:keyvalue/atomics.cas": crate::capability::Cas,
        },
    });
}

/// Requests to other hosts, as the SDKs send them.
pub(crate) mod http {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "http",
        imports: { default: async | trappable },
        with: { "plugport:plugin/http-client.sent-request": crate::capability::SentRequest },
    });
}

/// The standard interface for the operator's settings.
pub(crate) mod config {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "config",
        imports: { default: async | trappable },
    });
}

/// Calls that become tasks when their guest says so.
pub(crate) mod tasks {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "detaching",
        imports: { default: async | trappable },
        with: { "plugport:plugin/request": crate::bindings::plugport::plugin::request },
    });
}
