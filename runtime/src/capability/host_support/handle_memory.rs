//! Counts the bytes that the host keeps behind the resource handles of one instance.
//!
//! `handles` bounds how many handles there are, and most of them are small. Header fields, requests with their bodies,
//! and keys are not, so all of them together are bounded by `transfer_mib`, like all that a guest hands over, and count
//! as memory of the instance.
//!
//! Nothing reports that a handle was dropped. Instead all handles are counted anew when enough bytes were added since
//! the last count: as many as the handles had then, or as were then left of the limit, but at least a step. So the
//! counted bytes are at most twice the real ones, or a step more, and the real ones at most the limit and an eighth of
//! it.

use wasmtime::component::ResourceTable;

use super::host_error::LimitTrap;
use crate::capability::handle_size;
use crate::config::mib;
use crate::sandbox::{ChargeError, InstanceMemory};

/// The handles are not counted anew for fewer added bytes than this, or an eighth of the limit.
const STEP: usize = mib(1);

/// The bytes behind the handles of one instance.
#[derive(Debug)]
pub(in crate::capability) struct HandleMemory {
    max: usize,
    /// Bytes at the last count.
    counted: usize,
    /// Bytes added since the last count.
    added: usize,
}

impl HandleMemory {
    pub(in crate::capability) fn new(max: usize) -> Self {
        Self { max, counted: 0, added: 0 }
    }

    /// Reserves `bytes` for a handle that is about to be added to `table`.
    ///
    /// # Errors
    /// When the limit would be exceeded, or there is no memory for it.
    pub(in crate::capability) fn add(
        &mut self,
        table: &mut ResourceTable,
        memory: &mut InstanceMemory,
        bytes: usize,
    ) -> wasmtime::Result<()> {
        let step = STEP.min(self.max / 8);
        let due = self.counted.min(self.max.saturating_sub(self.counted)).max(step);
        let added = self.added.saturating_add(bytes);
        if self.counted <= self.max && added <= due && memory.grow(bytes) {
            self.added = added;
            return Ok(());
        }
        let has_memory = self.count(table, memory);
        if bytes > self.max.saturating_sub(self.counted) {
            return Err(LimitTrap("transfer_mib").into());
        }
        if !has_memory || !memory.grow(bytes) {
            return Err(ChargeError::Memory.into());
        }
        self.added = bytes;
        Ok(())
    }

    /// Counts all handles anew and corrects the instance's memory by the difference. `false`: they have more bytes than
    /// there is memory for, since HTTP responses came in meanwhile.
    pub(in crate::capability) fn count(
        &mut self,
        table: &mut ResourceTable,
        memory: &mut InstanceMemory,
    ) -> bool {
        let before = self.counted.saturating_add(self.added);
        let counted = table.iter_mut().fold(0_usize, |sum, entry| sum.saturating_add(handle_size(entry)));
        let more = counted.saturating_sub(before);
        let has_memory = more == 0 || memory.grow(more);
        memory.shrink(before.saturating_sub(counted));
        self.counted = if has_memory { counted } else { before };
        self.added = 0;
        has_memory
    }
}

#[cfg(test)]
mod tests {
    use wasmtime_wasi_http::FieldMap;
    use wasmtime_wasi_http::p2::types::HostOutgoingRequest;

    use super::*;
    use crate::capability::http::fields_size;
    use crate::config::ServerConfig;
    use crate::sandbox::GuestMemory;

    const MAX: usize = 100_000;

    /// A collection of `count` fields with values of `length` bytes.
    fn fields(count: usize, length: usize) -> FieldMap {
        let mut fields = FieldMap::new_mutable(usize::MAX);
        for at in 0..count {
            let (name, value) = (format!("x-{at}").parse().unwrap(), "v".repeat(length).parse().unwrap());
            fields.append_raw(name, value).unwrap();
        }
        fields
    }

    /// The memory of an instance that is alone on a server with so much memory for guests.
    fn memory(guest_memory_mib: u64) -> InstanceMemory {
        let settings = ServerConfig { guest_memory_mib: Some(guest_memory_mib), ..ServerConfig::default() };
        GuestMemory::new(&settings).of_plugin().instance().unwrap()
    }

    /// Makes handles until no more are allowed, or `max` of them.
    fn make(
        max: usize,
        table: &mut ResourceTable,
        handle_memory: &mut HandleMemory,
        made: impl Fn() -> FieldMap,
    ) -> usize {
        let mut memory = memory(64);
        for count in 0..max {
            let fields = made();
            if handle_memory.add(table, &mut memory, fields_size(&fields)).is_err() {
                return count;
            }
            table.push(fields).unwrap();
        }
        max
    }

    #[test]
    fn what_handles_keep_is_bounded_however_it_is_cut() {
        for (count, length) in [(1, 10_000), (100, 1), (0, 0), (1, 0)] {
            let (mut table, mut handle_memory) = (ResourceTable::new(), HandleMemory::new(MAX));
            let made = make(5_000, &mut table, &mut handle_memory, || fields(count, length));
            let bytes = made * fields_size(&fields(count, length));
            assert!(bytes <= MAX + MAX / 8, "{made} of {count} fields of {length} bytes");
            assert_eq!(made == 5_000, count == 0, "{made} of {count} fields of {length} bytes");
        }
    }

    #[test]
    fn what_is_given_back_is_no_longer_counted() {
        let (mut table, mut handle_memory, mut memory) =
            (ResourceTable::new(), HandleMemory::new(MAX), memory(64));
        for _ in 0..1_000 {
            let fields = fields(10, 100);
            handle_memory.add(&mut table, &mut memory, fields_size(&fields)).unwrap();
            let handle = table.push(fields).unwrap();
            table.delete(handle).unwrap();
        }
    }

    #[test]
    fn what_is_kept_is_taken_from_the_memory_of_instances() {
        // A quarter of it is the pool's, and a plugin alone has half of the rest: 3 MiB, with its stack.
        let (mut table, mut handle_memory, mut memory) =
            (ResourceTable::new(), HandleMemory::new(mib(8)), memory(8));
        for _ in 0..2 {
            handle_memory.add(&mut table, &mut memory, mib(1)).unwrap();
            table.push(fields(1, mib(1))).unwrap();
        }
        let error = handle_memory.add(&mut table, &mut memory, mib(1)).unwrap_err();
        assert_eq!(error.downcast_ref::<ChargeError>(), Some(&ChargeError::Memory));
        // Dropped handles are noticed when memory is needed.
        table = ResourceTable::new();
        handle_memory.add(&mut table, &mut memory, mib(2)).unwrap();
        assert!(handle_memory.count(&mut table, &mut memory) && memory.grow(mib(2)));
    }

    #[test]
    fn what_moved_into_a_request_is_counted_there() {
        let (mut table, mut handle_memory, mut memory) =
            (ResourceTable::new(), HandleMemory::new(MAX), memory(64));
        let made = (0..1_000).take_while(|_| {
            let request = HostOutgoingRequest {
                method: wasmtime_wasi_http::p2::bindings::http::types::Method::Get,
                scheme: None,
                authority: None,
                path_with_query: Some("/".repeat(1_000)),
                headers: fields(0, 0),
                body: None,
            };
            handle_memory.add(&mut table, &mut memory, 1_000).is_ok() && table.push(request).is_ok()
        });
        assert!((100..=200).contains(&made.count()));
    }

    #[test]
    fn who_keeps_more_than_there_may_be_gets_nothing_until_it_is_less() {
        let (mut table, mut handle_memory, mut memory) =
            (ResourceTable::new(), HandleMemory::new(MAX), memory(64));
        // Came in without a reservation, as HTTP responses do.
        let large = table.push(fields(1, 2 * MAX)).unwrap();
        assert!(handle_memory.count(&mut table, &mut memory));
        for _ in 0..3 {
            let error = handle_memory.add(&mut table, &mut memory, 1).unwrap_err();
            assert_eq!(error.downcast_ref::<LimitTrap>(), Some(&LimitTrap("transfer_mib")));
        }
        table.delete(large).unwrap();
        handle_memory.add(&mut table, &mut memory, 1).unwrap();
    }

    #[test]
    fn one_entry_larger_than_all_that_may_be_kept_is_rejected() {
        let error = HandleMemory::new(10).add(&mut ResourceTable::new(), &mut memory(64), 11).unwrap_err();
        assert_eq!(error.downcast_ref::<LimitTrap>(), Some(&LimitTrap("transfer_mib")));
    }
}
