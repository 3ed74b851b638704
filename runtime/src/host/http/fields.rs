//! `fields` of `wasi:http/types`, charged by what they hold, with pauses for others.
//!
//! Each of these functions looks at or copies a whole collection: tens of microseconds of host for a few instructions of
//! a guest, and wasmtime's own never let anyone else run.

use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource};
use wasmtime_wasi_http::p2::bindings::http::types::{HeaderError, HostFields as _};
use wasmtime_wasi_http::p2::{self, HeaderResult};
use wasmtime_wasi_http::{FieldMap, WasiHttpView as _};

use crate::host::State;

type Store<'s> = StoreContextMut<'s, State>;
type Fields = Resource<FieldMap>;

/// Price of one field, as bytes: about 0.1 µs.
const FIELD: usize = 1_000;

/// Shadows the functions.
///
/// # Errors
/// Never for a fixed set of interfaces.
pub(super) fn shadow(types: &mut LinkerInstance<'_, State>) -> wasmtime::Result<()> {
    types.func_wrap_async(
        "[static]fields.from-list",
        |mut store: Store<'_>, (entries,): (Vec<(String, Vec<u8>)>,)| {
            Box::new(async move {
                charge(&mut store, entries.len()).await?;
                Ok((told(store.data_mut().http().from_list(entries))?,))
            })
        },
    )?;
    types.func_wrap_async("[method]fields.clone", |mut store: Store<'_>, (fields,): (Fields,)| {
        Box::new(async move {
            charge_for(&mut store, &fields).await?;
            Ok((store.data_mut().http().clone(fields)?,))
        })
    })?;
    types.func_wrap_async(
        "[method]fields.get",
        |mut store: Store<'_>, (fields, name): (Fields, String)| {
            Box::new(async move {
                charge_for(&mut store, &fields).await?;
                Ok((store.data_mut().http().get(fields, name)?,))
            })
        },
    )?;
    types.func_wrap_async("[method]fields.entries", |mut store: Store<'_>, (fields,): (Fields,)| {
        Box::new(async move {
            charge_for(&mut store, &fields).await?;
            Ok((store.data_mut().http().entries(fields)?,))
        })
    })?;
    changes(types)
}

/// Changing one field copies all of them when they are shared with a clone.
fn changes(types: &mut LinkerInstance<'_, State>) -> wasmtime::Result<()> {
    types.func_wrap_async(
        "[method]fields.set",
        |mut store: Store<'_>, (fields, name, values): (Fields, String, Vec<Vec<u8>>)| {
            Box::new(async move {
                charge_for(&mut store, &fields).await?;
                Ok((told(store.data_mut().http().set(fields, name, values))?,))
            })
        },
    )?;
    types.func_wrap_async(
        "[method]fields.delete",
        |mut store: Store<'_>, (fields, name): (Fields, String)| {
            Box::new(async move {
                charge_for(&mut store, &fields).await?;
                Ok((told(store.data_mut().http().delete(fields, name))?,))
            })
        },
    )?;
    types.func_wrap_async(
        "[method]fields.append",
        |mut store: Store<'_>, (fields, name, value): (Fields, String, Vec<u8>)| {
            Box::new(async move {
                charge_for(&mut store, &fields).await?;
                Ok((told(store.data_mut().http().append(fields, name, value))?,))
            })
        },
    )
}

async fn charge_for(store: &mut Store<'_>, fields: &Fields) -> wasmtime::Result<()> {
    let count = store.data_mut().table.get(fields)?.len();
    charge(store, count).await
}

async fn charge(store: &mut Store<'_>, count: usize) -> wasmtime::Result<()> {
    let meter = store.data_mut().meter.clone();
    Ok(meter.charge(count.saturating_add(1).saturating_mul(FIELD)).await?)
}

/// What the guest is told: an error of the interface, unless it is one that ends the call.
fn told<T>(done: HeaderResult<T, p2::HeaderError>) -> wasmtime::Result<Result<T, HeaderError>> {
    match done {
        Ok(done) => Ok(Ok(done)),
        Err(error) => Ok(Err(error.downcast()?)),
    }
}
