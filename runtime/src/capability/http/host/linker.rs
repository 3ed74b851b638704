//! Links `wasi:http`, and shadows functions that are not safe enough in wasmtime's version.
//!
//! The host keeps a request's method, scheme, path and authority, which are text of the guest, as long as the guest has
//! the request; a body keeps what was written to it. The functions that set them are shadowed by functions that charge
//! for the text, reject text that is longer than any server would accept,
//! [count](crate::capability::host_support::handle_memory) what the host keeps, and let other guests run.
//! `http-error-code` is shadowed too: wasmtime's own function does not find the code of a body that broke off.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, LinkerInstance, Resource};
use wasmtime_wasi_http::p2::add_only_http_to_linker_async;
use wasmtime_wasi_http::p2::bindings::http::types::{
    self, HostOutgoingRequest as _, IoError, Method, Scheme,
};
use wasmtime_wasi_http::p2::types::{HostOutgoingRequest as Outgoing, HostOutgoingResponse as Response};
use wasmtime_wasi_http::{Error, WasiHttpView as _};

use super::{BODY_SIZE, error_codes, fields};
use crate::capability::InstanceCtx;
use crate::config::fixed_limits::HTTP_HEADER_KIB;
use crate::config::kib;

/// The interface whose functions are shadowed, in the version that wasmtime links.
const TYPES: &str = "wasi:http/types@0.2.12";

/// Maximum length of a method, a scheme and an authority, in bytes.
const MAX_TEXT: usize = 300;

type SetterResult = Result<(), ()>;
type StoreCtx<'s> = StoreContextMut<'s, InstanceCtx>;

/// Links the interfaces for requests.
///
/// # Errors
/// Never for a fixed set of interfaces.
pub(in crate::capability::http) fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
    add_only_http_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    let shadowed = shadow(linker);
    linker.allow_shadowing(false);
    shadowed
}

fn shadow(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
    let mut types = linker.instance(TYPES)?;
    fields::shadow(&mut types)?;
    types.func_wrap("http-error-code", |mut store: StoreCtx<'_>, (error,): (Resource<IoError>,)| {
        let code =
            store.data_mut().table.get(&error)?.downcast_ref::<Error>().map(error_codes::to_error_code);
        Ok((code,))
    })?;
    bodies(&mut types)?;
    setters(&mut types)
}

fn setters(types: &mut LinkerInstance<'_, InstanceCtx>) -> wasmtime::Result<()> {
    types.func_wrap_async(
        "[method]outgoing-request.set-method",
        |mut store: StoreCtx<'_>, (request, method): (Resource<Outgoing>, Method)| {
            Box::new(async move {
                let length = if let Method::Other(name) = &method { name.len() } else { 0 };
                if !charge_and_reserve(&mut store, length, MAX_TEXT).await? {
                    return Ok((SetterResult::Err(()),));
                }
                Ok((store.data_mut().http().set_method(request, method)?,))
            })
        },
    )?;
    types.func_wrap_async(
        "[method]outgoing-request.set-scheme",
        |mut store: StoreCtx<'_>, (request, scheme): (Resource<Outgoing>, Option<Scheme>)| {
            Box::new(async move {
                let length = if let Some(Scheme::Other(name)) = &scheme { name.len() } else { 0 };
                if !charge_and_reserve(&mut store, length, MAX_TEXT).await? {
                    return Ok((SetterResult::Err(()),));
                }
                Ok((store.data_mut().http().set_scheme(request, scheme)?,))
            })
        },
    )?;
    types.func_wrap_async(
        "[method]outgoing-request.set-authority",
        |mut store: StoreCtx<'_>, (request, authority): (Resource<Outgoing>, Option<String>)| {
            Box::new(async move {
                if !charge_and_reserve(&mut store, authority.as_ref().map_or(0, String::len), MAX_TEXT)
                    .await?
                {
                    return Ok((SetterResult::Err(()),));
                }
                Ok((store.data_mut().http().set_authority(request, authority)?,))
            })
        },
    )?;
    types.func_wrap_async(
        "[method]outgoing-request.set-path-with-query",
        |mut store: StoreCtx<'_>, (request, path): (Resource<Outgoing>, Option<String>)| {
            Box::new(async move {
                let max = kib(HTTP_HEADER_KIB);
                if !charge_and_reserve(&mut store, path.as_ref().map_or(0, String::len), max).await? {
                    return Ok((SetterResult::Err(()),));
                }
                Ok((store.data_mut().http().set_path_with_query(request, path)?,))
            })
        },
    )
}

fn bodies(types: &mut LinkerInstance<'_, InstanceCtx>) -> wasmtime::Result<()> {
    types.func_wrap(
        "[method]outgoing-request.body",
        |mut store: StoreCtx<'_>, (request,): (Resource<Outgoing>,)| {
            store.data_mut().reserve_handle_memory(BODY_SIZE)?;
            Ok((store.data_mut().http().body(request)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-response.body",
        |mut store: StoreCtx<'_>, (response,): (Resource<Response>,)| {
            store.data_mut().reserve_handle_memory(BODY_SIZE)?;
            Ok((types::HostOutgoingResponse::body(&mut store.data_mut().http(), response)?,))
        },
    )
}

/// Charges for text of this length and reserves memory for it. Returns `false` if the text is longer than `max`.
async fn charge_and_reserve(store: &mut StoreCtx<'_>, length: usize, max: usize) -> wasmtime::Result<bool> {
    let state = store.data_mut();
    state.host_fuel.clone().charge(length).await?;
    if length > max {
        return Ok(false);
    }
    state.reserve_handle_memory(length)?;
    Ok(true)
}
