//! Links `wasi:http`, and shadows the functions whose library version is not enough.
//!
//! A method, a scheme, a path and an authority are text that the host keeps for as long as the guest has the request,
//! and a body keeps what was written to it. The functions that take them are shadowed by functions that charge for the
//! text, reject what no server would accept before anything reads it,
//! [count](crate::capability::host_support::handle_memory) what is kept, and let others run. A body that breaks off has
//! an error code, which wasmtime's own function does not find.

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

/// The interface with the setters, in the version that wasmtime links.
const TYPES: &str = "wasi:http/types@0.2.12";

/// Longest method, scheme and authority, bytes.
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
                if !fits(&mut store, length, MAX_TEXT).await? {
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
                if !fits(&mut store, length, MAX_TEXT).await? {
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
                if !fits(&mut store, authority.as_ref().map_or(0, String::len), MAX_TEXT).await? {
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
                if !fits(&mut store, path.as_ref().map_or(0, String::len), max).await? {
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

/// Charges for text of this length and reserves memory for it. `false`: it is longer than `max`.
async fn fits(store: &mut StoreCtx<'_>, length: usize, max: usize) -> wasmtime::Result<bool> {
    let state = store.data_mut();
    state.host_fuel.clone().charge(length).await?;
    if length > max {
        return Ok(false);
    }
    state.reserve_handle_memory(length)?;
    Ok(true)
}
