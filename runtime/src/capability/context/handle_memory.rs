//! Counts the bytes that the host keeps behind the resource handles of one instance.
//!
//! `handles` bounds how many there are, and most of them are small. Header fields, requests with their bodies, and keys are
//! not, so they are bounded together as well, by `transfer_mib` like all that a guest hands over, and taken from the account of
//! the instance's memory. What is given back nobody has to tell: whenever as much was added as was kept when the handles were
//! last gone through, or as was left then, they are gone through again, though not for less than a step. So what is counted is
//! at most twice what is kept, or a step more, and what is kept at most the limit and an eighth of it.

use wasmtime::component::ResourceTable;

use super::error::LimitTrap;
use crate::capability::handle_size;
use crate::config::mib;
use crate::sandbox::{ChargeError, InstanceMemory};

/// The handles are not gone through for less than this.
const STEP: usize = mib(1);

/// The account of one instance.
#[derive(Debug)]
pub(in crate::capability) struct HandleMemory {
    most: usize,
    /// What was kept when the handles were last gone through.
    found: usize,
    /// Since then.
    added: usize,
}

impl HandleMemory {
    pub(in crate::capability) fn new(most: usize) -> Self {
        Self { most, found: 0, added: 0 }
    }

    /// So much is about to be kept, beside what `table` holds.
    ///
    /// # Errors
    /// When that is more than may be kept, or there is no memory for it.
    pub(in crate::capability) fn add(
        &mut self,
        table: &mut ResourceTable,
        account: &mut InstanceMemory,
        bytes: usize,
    ) -> wasmtime::Result<()> {
        let step = STEP.min(self.most / 8);
        let due = self.found.min(self.most.saturating_sub(self.found)).max(step);
        let added = self.added.saturating_add(bytes);
        if self.found <= self.most && added <= due && account.grow(bytes) {
            self.added = added;
            return Ok(());
        }
        let is_counted = self.count(table, account);
        if bytes > self.most.saturating_sub(self.found) {
            return Err(LimitTrap("transfer_mib").into());
        }
        if !is_counted || !account.grow(bytes) {
            return Err(ChargeError::Memory.into());
        }
        self.added = bytes;
        Ok(())
    }

    /// Goes through the handles and puts the account right. `false`: they keep more than there is memory for, since the
    /// answers to requests came in meanwhile.
    pub(in crate::capability) fn count(
        &mut self,
        table: &mut ResourceTable,
        account: &mut InstanceMemory,
    ) -> bool {
        let taken = self.found.saturating_add(self.added);
        let found = table.iter_mut().fold(0_usize, |sum, entry| sum.saturating_add(handle_size(entry)));
        let more = found.saturating_sub(taken);
        let is_counted = more == 0 || account.grow(more);
        account.shrink(taken.saturating_sub(found));
        self.found = if is_counted { found } else { taken };
        self.added = 0;
        is_counted
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

    /// The account of an instance that is alone on a server with so much memory for guests.
    fn account(guest_memory_mib: u64) -> InstanceMemory {
        let settings = ServerConfig { guest_memory_mib: Some(guest_memory_mib), ..ServerConfig::default() };
        GuestMemory::new(&settings).of_plugin().instance().unwrap()
    }

    /// Makes handles until there may be no more, or `most` of them.
    fn make(
        most: usize,
        table: &mut ResourceTable,
        handle_memory: &mut HandleMemory,
        made: impl Fn() -> FieldMap,
    ) -> usize {
        let mut account = account(64);
        for count in 0..most {
            let fields = made();
            if handle_memory.add(table, &mut account, fields_size(&fields)).is_err() {
                return count;
            }
            table.push(fields).unwrap();
        }
        most
    }

    #[test]
    fn what_handles_keep_is_bounded_however_it_is_cut() {
        for (count, length) in [(1, 10_000), (100, 1), (0, 0), (1, 0)] {
            let (mut table, mut handle_memory) = (ResourceTable::new(), HandleMemory::new(MOST));
            let made = make(5_000, &mut table, &mut handle_memory, || fields(count, length));
            let kept = made * fields_size(&fields(count, length));
            assert!(kept <= MOST + MOST / 8, "{made} of {count} fields of {length} bytes");
            assert_eq!(made == 5_000, count == 0, "{made} of {count} fields of {length} bytes");
        }
    }

    #[test]
    fn what_is_given_back_is_no_longer_counted() {
        let (mut table, mut handle_memory, mut account) =
            (ResourceTable::new(), HandleMemory::new(MOST), account(64));
        for _ in 0..1_000 {
            let fields = fields(10, 100);
            handle_memory.add(&mut table, &mut account, fields_size(&fields)).unwrap();
            let handle = table.push(fields).unwrap();
            table.delete(handle).unwrap();
        }
    }

    #[test]
    fn what_is_kept_is_taken_from_the_memory_of_instances() {
        // A quarter of it is the pool's, and a plugin alone has half of the rest: 3 MiB, with its stack.
        let (mut table, mut handle_memory, mut account) =
            (ResourceTable::new(), HandleMemory::new(mib(8)), account(8));
        for _ in 0..2 {
            handle_memory.add(&mut table, &mut account, mib(1)).unwrap();
            table.push(fields(1, mib(1))).unwrap();
        }
        let error = handle_memory.add(&mut table, &mut account, mib(1)).unwrap_err();
        assert_eq!(error.downcast_ref::<ChargeError>(), Some(&ChargeError::Memory));
        // What was given back is found when it is needed.
        table = ResourceTable::new();
        handle_memory.add(&mut table, &mut account, mib(2)).unwrap();
        assert!(handle_memory.count(&mut table, &mut account) && account.grow(mib(2)));
    }

    #[test]
    fn what_moved_into_a_request_is_counted_there() {
        let (mut table, mut handle_memory, mut account) =
            (ResourceTable::new(), HandleMemory::new(MOST), account(64));
        let made = (0..1_000).take_while(|_| {
            let request = HostOutgoingRequest {
                method: wasmtime_wasi_http::p2::bindings::http::types::Method::Get,
                scheme: None,
                authority: None,
                path_with_query: Some("/".repeat(1_000)),
                headers: fields(0, 0),
                body: None,
            };
            handle_memory.add(&mut table, &mut account, 1_000).is_ok() && table.push(request).is_ok()
        });
        assert!((100..=200).contains(&made.count()));
    }

    #[test]
    fn who_keeps_more_than_there_may_be_gets_nothing_until_it_is_less() {
        let (mut table, mut handle_memory, mut account) =
            (ResourceTable::new(), HandleMemory::new(MOST), account(64));
        // What came in beside what was added, as answers to requests do.
        let large = table.push(fields(1, 2 * MOST)).unwrap();
        assert!(handle_memory.count(&mut table, &mut account));
        for _ in 0..3 {
            let refused = handle_memory.add(&mut table, &mut account, 1).unwrap_err();
            assert_eq!(refused.downcast_ref::<LimitTrap>(), Some(&LimitTrap("transfer_mib")));
        }
        table.delete(large).unwrap();
        handle_memory.add(&mut table, &mut account, 1).unwrap();
    }

    #[test]
    fn one_entry_larger_than_all_that_may_be_kept_is_refused() {
        let refused = HandleMemory::new(10).add(&mut ResourceTable::new(), &mut account(64), 11).unwrap_err();
        assert_eq!(refused.downcast_ref::<LimitTrap>(), Some(&LimitTrap("transfer_mib")));
    }
}
