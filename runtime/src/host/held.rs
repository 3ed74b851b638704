//! What an instance has the host keep behind its handles, in bytes.
//!
//! `handles` bounds how many there are, and most of them are small. Header fields, requests with their bodies, and keys are
//! not, so they are bounded together as well, by `transfer_mib` like all that a guest hands over. What is given back nobody
//! has to tell: whenever as much was added as may be kept, the handles are gone through. So what is kept at any time is less
//! than twice the limit.

use std::any::Any;

use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::FieldMap;
use wasmtime_wasi_http::p2::types::{HostIncomingResponse, HostOutgoingRequest, HostOutgoingResponse};

use super::http::BODY;
use super::keyvalue::Cas;
use super::{Beyond, State};

/// What one header field takes beside its text, bytes: its place in a map that doubles when it is full, and two
/// allocations.
pub(super) const FIELD: usize = 256;

/// The account of one instance.
#[derive(Debug)]
pub(super) struct Held {
    most: usize,
    /// Since the handles were last gone through.
    added: usize,
}

impl Held {
    pub(super) fn new(most: usize) -> Self {
        Self { most, added: 0 }
    }

    /// So much is about to be kept, beside what `table` holds.
    fn add(&mut self, table: &mut ResourceTable, bytes: usize) -> Result<(), Beyond> {
        self.added = self.added.saturating_add(bytes);
        if self.added <= self.most {
            return Ok(());
        }
        self.added = bytes;
        let mut left = self.most.checked_sub(bytes);
        for entry in table.iter_mut() {
            left = left.and_then(|left| left.checked_sub(weight(entry)));
            if left.is_none() {
                break;
            }
        }
        left.map(|_| ()).ok_or(Beyond("transfer_mib"))
    }
}

impl State {
    /// A guest is about to have so much kept behind a handle.
    ///
    /// # Errors
    /// When all its handles together would hold more than they may.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<(), Beyond> {
        self.held.add(&mut self.table, bytes)
    }
}

/// What is kept behind one handle, as far as a guest decides it.
fn weight(entry: &(dyn Any + Send)) -> usize {
    if let Some(fields) = entry.downcast_ref::<FieldMap>() {
        of_fields(fields)
    } else if let Some(request) = entry.downcast_ref::<HostOutgoingRequest>() {
        let texts = [&request.path_with_query, &request.authority];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        of_fields(&request.headers) + texts + request.body.as_ref().map_or(0, |_| BODY)
    } else if let Some(response) = entry.downcast_ref::<HostOutgoingResponse>() {
        of_fields(&response.headers) + response.body.as_ref().map_or(0, |_| BODY)
    } else if let Some(response) = entry.downcast_ref::<HostIncomingResponse>() {
        of_fields(&response.headers)
    } else {
        entry.downcast_ref::<Cas>().map_or(0, Cas::size)
    }
}

/// What a collection of header fields takes.
pub(super) fn of_fields(fields: &FieldMap) -> usize {
    fields.iter().map(|(name, value)| FIELD + name.as_str().len() + value.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 100_000;

    /// A collection of `count` fields with values of `length` bytes.
    fn fields(count: usize, length: usize) -> FieldMap {
        let mut fields = FieldMap::new_mutable(usize::MAX);
        for at in 0..count {
            let (name, value) = (format!("x-{at}").parse().unwrap(), "v".repeat(length).parse().unwrap());
            fields.append_raw(name, value).unwrap();
        }
        fields
    }

    /// Makes handles until there may be no more, or `most` of them.
    fn make(most: usize, table: &mut ResourceTable, held: &mut Held, made: impl Fn() -> FieldMap) -> usize {
        for count in 0..most {
            let fields = made();
            if held.add(table, of_fields(&fields)).is_err() {
                return count;
            }
            table.push(fields).unwrap();
        }
        most
    }

    #[test]
    fn what_handles_keep_is_bounded_however_it_is_cut() {
        for (count, length) in [(1, 10_000), (100, 1), (0, 0), (1, 0)] {
            let (mut table, mut held) = (ResourceTable::new(), Held::new(MOST));
            let made = make(5_000, &mut table, &mut held, || fields(count, length));
            let kept = made * of_fields(&fields(count, length));
            assert!(kept <= 2 * MOST, "{made} of {count} fields of {length} bytes");
            assert_eq!(made == 5_000, count == 0, "{made} of {count} fields of {length} bytes");
        }
    }

    #[test]
    fn what_is_given_back_is_no_longer_counted() {
        let (mut table, mut held) = (ResourceTable::new(), Held::new(MOST));
        for _ in 0..1_000 {
            let fields = fields(10, 100);
            held.add(&mut table, of_fields(&fields)).unwrap();
            let handle = table.push(fields).unwrap();
            table.delete(handle).unwrap();
        }
    }

    #[test]
    fn what_moved_into_a_request_is_counted_there() {
        let (mut table, mut held) = (ResourceTable::new(), Held::new(MOST));
        let made = (0..1_000).take_while(|_| {
            let request = HostOutgoingRequest {
                method: wasmtime_wasi_http::p2::bindings::http::types::Method::Get,
                scheme: None,
                authority: None,
                path_with_query: Some("/".repeat(1_000)),
                headers: fields(0, 0),
                body: None,
            };
            held.add(&mut table, 1_000).is_ok() && table.push(request).is_ok()
        });
        assert!((100..=200).contains(&made.count()));
    }

    #[test]
    fn one_entry_larger_than_all_that_may_be_kept_is_refused() {
        assert_eq!(Held::new(10).add(&mut ResourceTable::new(), 11), Err(Beyond("transfer_mib")));
    }
}
