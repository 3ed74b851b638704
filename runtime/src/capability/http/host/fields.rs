//! The resource `fields` of `wasi:http/types`. Its functions charge for the size of the collection and of their
//! arguments, and let other guests run.
//!
//! Each function reads or copies a whole collection: a few instructions of a guest cost the host tens of microseconds,
//! and wasmtime's own functions never let other guests run in between. An argument that is longer than a collection may
//! be is rejected before it is read: a name is not hashed, and a list is lifted only up to the maximum.

use std::any::Any;

use wasmtime::StoreContextMut;
use wasmtime::component::{Lift, LinkerInstance, Resource, WasmList};
use wasmtime_wasi_http::p2::bindings::http::types::{HeaderError, HostFields as _};
use wasmtime_wasi_http::p2::types::{HostIncomingResponse, HostOutgoingRequest, HostOutgoingResponse};
use wasmtime_wasi_http::p2::{self, HeaderResult};
use wasmtime_wasi_http::{FieldMap, WasiHttpView as _};

use super::BODY_SIZE;
use crate::capability::{InstanceCtx, LimitTrap};
use crate::config::fixed_limits::HTTP_HEADER_KIB;
use crate::config::kib;

type StoreCtx<'s> = StoreContextMut<'s, InstanceCtx>;
type Fields = Resource<FieldMap>;

/// What one header field takes besides its text, in bytes: its slot in a map that doubles its capacity when full, and
/// two allocations.
const FIELD_SIZE: usize = 256;

/// What a guest is charged for one field besides its text, in bytes: about 0.1 µs.
const FIELD_CHARGE: usize = 1_000;

/// The minimum that wasmtime-wasi-http counts for a value besides its text, in bytes.
const VALUE_SIZE: usize = 32;

/// Shadows wasmtime's functions of `fields`.
///
/// # Errors
/// Never for a fixed set of interfaces.
pub(super) fn shadow(types: &mut LinkerInstance<'_, InstanceCtx>) -> wasmtime::Result<()> {
    types.func_wrap_async(
        "[static]fields.from-list",
        |mut store: StoreCtx<'_>, (entries,): (WasmList<(String, Vec<u8>)>,)| {
            Box::new(async move {
                let size = |(name, value): &(String, Vec<u8>)| name.len() + value.len();
                let entries = lift_bounded(&mut store, &entries, size)?;
                let bytes = entries.iter().map(size).sum();
                charge(&mut store, entries.len(), bytes).await?;
                store.data_mut().reserve_handle_memory(bytes + FIELD_SIZE * entries.len())?;
                Ok((wit_result(store.data_mut().http().from_list(entries))?,))
            })
        },
    )?;
    types.func_wrap_async("[method]fields.clone", |mut store: StoreCtx<'_>, (fields,): (Fields,)| {
        Box::new(async move {
            charge_collection(&mut store, &fields, 0, 0).await?;
            let bytes = fields_size(store.data_mut().table.get(&fields)?);
            store.data_mut().reserve_handle_memory(bytes)?;
            Ok((store.data_mut().http().clone(fields)?,))
        })
    })?;
    types.func_wrap_async("[method]fields.entries", |mut store: StoreCtx<'_>, (fields,): (Fields,)| {
        Box::new(async move {
            charge_collection(&mut store, &fields, 0, 0).await?;
            Ok((store.data_mut().http().entries(fields)?,))
        })
    })?;
    lookups(types)?;
    edits(types)
}

fn lookups(types: &mut LinkerInstance<'_, InstanceCtx>) -> wasmtime::Result<()> {
    types.func_wrap_async(
        "[method]fields.get",
        |mut store: StoreCtx<'_>, (fields, name): (Fields, String)| {
            Box::new(async move {
                charge_collection(&mut store, &fields, 0, name.len()).await?;
                let fits = name.len() <= MAX_SIZE;
                Ok((if fits { store.data_mut().http().get(fields, name)? } else { Vec::new() },))
            })
        },
    )?;
    types.func_wrap_async(
        "[method]fields.has",
        |mut store: StoreCtx<'_>, (fields, name): (Fields, String)| {
            Box::new(async move {
                charge_collection(&mut store, &fields, 0, name.len()).await?;
                Ok((name.len() <= MAX_SIZE && store.data_mut().http().has(fields, name)?,))
            })
        },
    )
}

/// Changing one field copies all fields if a clone shares them.
fn edits(types: &mut LinkerInstance<'_, InstanceCtx>) -> wasmtime::Result<()> {
    types.func_wrap_async(
        "[method]fields.set",
        |mut store: StoreCtx<'_>, (fields, name, values): (Fields, String, WasmList<Vec<u8>>)| {
            Box::new(async move {
                let values = lift_bounded(&mut store, &values, Vec::len)?;
                let bytes = name.len() + values.iter().map(Vec::len).sum::<usize>();
                charge_collection(&mut store, &fields, values.len(), bytes).await?;
                if name.len() > MAX_SIZE {
                    return Ok((Err(HeaderError::InvalidSyntax),));
                }
                store.data_mut().reserve_handle_memory(bytes + FIELD_SIZE * values.len())?;
                Ok((wit_result(store.data_mut().http().set(fields, name, values))?,))
            })
        },
    )?;
    types.func_wrap_async(
        "[method]fields.delete",
        |mut store: StoreCtx<'_>, (fields, name): (Fields, String)| {
            Box::new(async move {
                charge_collection(&mut store, &fields, 0, name.len()).await?;
                if name.len() > MAX_SIZE {
                    return Ok((Err(HeaderError::InvalidSyntax),));
                }
                Ok((wit_result(store.data_mut().http().delete(fields, name))?,))
            })
        },
    )?;
    types.func_wrap_async(
        "[method]fields.append",
        |mut store: StoreCtx<'_>, (fields, name, value): (Fields, String, Vec<u8>)| {
            Box::new(async move {
                let bytes = name.len() + value.len();
                charge_collection(&mut store, &fields, 0, bytes).await?;
                if bytes > MAX_SIZE {
                    return Err(LimitTrap("http_header_kib").into());
                }
                store.data_mut().reserve_handle_memory(bytes + FIELD_SIZE)?;
                Ok((wit_result(store.data_mut().http().append(fields, name, value))?,))
            })
        },
    )
}

/// Maximum size of a collection of header fields, in bytes.
const MAX_SIZE: usize = kib(HTTP_HEADER_KIB);

/// Lifts a list of the guest, or fails if the list does not fit into a collection.
fn lift_bounded<T: Lift + 'static>(
    store: &mut StoreCtx<'_>,
    list: &WasmList<T>,
    size: impl Fn(&T) -> usize,
) -> wasmtime::Result<Vec<T>> {
    let mut left = MAX_SIZE;
    let mut items = Vec::new();
    for item in list.iter(&mut *store)? {
        let item = item?;
        left = left.checked_sub(VALUE_SIZE + size(&item)).ok_or(LimitTrap("http_header_kib"))?;
        items.push(item);
    }
    Ok(items)
}

/// Charges for reading a collection, and for `values` values and `bytes` bytes of arguments.
async fn charge_collection(
    store: &mut StoreCtx<'_>,
    fields: &Fields,
    values: usize,
    bytes: usize,
) -> wasmtime::Result<()> {
    let fields = store.data_mut().table.get(fields)?;
    let (count, size) = (fields.len(), fields_size(fields));
    charge(store, count.saturating_add(values), bytes.saturating_add(size)).await
}

async fn charge(store: &mut StoreCtx<'_>, count: usize, bytes: usize) -> wasmtime::Result<()> {
    let host_fuel = store.data_mut().host_fuel.clone();
    let work = count.saturating_add(1).saturating_mul(FIELD_CHARGE).saturating_add(bytes);
    Ok(host_fuel.charge_work(work, bytes).await?)
}

/// Returns an error of the interface to the guest; any other error ends the call.
fn wit_result<T>(result: HeaderResult<T, p2::HeaderError>) -> wasmtime::Result<Result<T, HeaderError>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => Ok(Err(error.downcast()?)),
    }
}

/// How many bytes of what the host keeps behind a handle of `wasi:http` a guest determines.
pub(in crate::capability::http) fn handle_size(entry: &(dyn Any + Send)) -> Option<usize> {
    if let Some(fields) = entry.downcast_ref::<FieldMap>() {
        Some(fields_size(fields))
    } else if let Some(request) = entry.downcast_ref::<HostOutgoingRequest>() {
        let texts = [&request.path_with_query, &request.authority];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        Some(fields_size(&request.headers) + texts + request.body.as_ref().map_or(0, |_| BODY_SIZE))
    } else if let Some(response) = entry.downcast_ref::<HostOutgoingResponse>() {
        Some(fields_size(&response.headers) + response.body.as_ref().map_or(0, |_| BODY_SIZE))
    } else {
        entry.downcast_ref::<HostIncomingResponse>().map(|response| fields_size(&response.headers))
    }
}

/// The size of a collection of header fields in memory, in bytes.
pub(in crate::capability) fn fields_size(fields: &FieldMap) -> usize {
    fields.iter().map(|(name, value)| FIELD_SIZE + name.as_str().len() + value.len()).sum()
}
