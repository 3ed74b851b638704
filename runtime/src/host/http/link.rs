//! Links `wasi:http`, and shadows what of it is not enough.
//!
//! A method, a path and an authority are text that the host keeps for as long as the guest holds the request. Their
//! setters are shadowed by ones that charge for the text and refuse what no server would take. And a body that breaks off
//! has a code, which wasmtime's own function does not find.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::p2::add_only_http_to_linker_async;
use wasmtime_wasi_http::p2::bindings::http::types::{HostOutgoingRequest as _, IoError, Method};
use wasmtime_wasi_http::p2::types::HostOutgoingRequest as Outgoing;
use wasmtime_wasi_http::{Error, WasiHttpView as _};

use super::{errors, fields};
use crate::config::kib;
use crate::host::State;

/// The interface with the setters, in the version that wasmtime links.
const TYPES: &str = "wasi:http/types@0.2.12";

/// Longest method and authority that are kept, bytes.
const SHORT: usize = 300;

type Set = Result<(), ()>;

/// Links the interfaces for requests.
///
/// # Errors
/// Never for a fixed set of interfaces.
pub(in crate::host) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    add_only_http_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    let bounded = bound(linker);
    linker.allow_shadowing(false);
    bounded
}

fn bound(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut types = linker.instance(TYPES)?;
    fields::shadow(&mut types)?;
    types.func_wrap(
        "http-error-code",
        |mut store: StoreContextMut<'_, State>, (error,): (Resource<IoError>,)| {
            let found = store.data_mut().table.get(&error)?.downcast_ref::<Error>().map(errors::code);
            Ok((found,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-method",
        |mut store: StoreContextMut<'_, State>, (request, method): (Resource<Outgoing>, Method)| {
            let state = store.data_mut();
            let length = if let Method::Other(name) = &method { name.len() } else { 0 };
            if !fits(state, length, SHORT)? {
                return Ok((Set::Err(()),));
            }
            Ok((state.http().set_method(request, method)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-authority",
        |mut store: StoreContextMut<'_, State>,
         (request, authority): (Resource<Outgoing>, Option<String>)| {
            let state = store.data_mut();
            if !fits(state, authority.as_ref().map_or(0, String::len), SHORT)? {
                return Ok((Set::Err(()),));
            }
            Ok((state.http().set_authority(request, authority)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-path-with-query",
        |mut store: StoreContextMut<'_, State>, (request, path): (Resource<Outgoing>, Option<String>)| {
            let state = store.data_mut();
            let most = kib(state.shared.config.limits.http_header_kib);
            if !fits(state, path.as_ref().map_or(0, String::len), most)? {
                return Ok((Set::Err(()),));
            }
            Ok((state.http().set_path_with_query(request, path)?,))
        },
    )
}

/// Charges for text, and says whether it may be kept.
fn fits(state: &State, length: usize, most: usize) -> wasmtime::Result<bool> {
    state.meter.charge_now(length)?;
    Ok(length <= most)
}
