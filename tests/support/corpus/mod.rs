//! The hostile corpus: a table of everything that an untrusted component may try, with the evidence that it fails.
//!
//! The suite compares this table with its own sources and fails when an entry has no test (`every_entry_is_tested`).
//! The letters of the ids: H the threat model, written in advance; A advisories on Wasmtime; F attacks on an earlier
//! version from outside; N names; Q quotas; S work of the server itself; T tasks.

mod advisories;
mod blocked_threads;
mod calls;
mod clients;
mod descriptions;
mod files;
mod handle_memory;
mod host_function_calls;
mod names;
mod quota;
mod schemas;
mod shipped_files;
mod tasks;

use crate::containment::{Attack, AttackAction, AttackGrant, ENDED, Source};

/// One idea of an attack.
#[derive(Debug)]
pub struct Entry {
    /// For example `H1`.
    pub id: &'static str,
    /// For example `loop_in_call`.
    pub name: &'static str,
    /// What the attack tries.
    pub what: &'static str,
    /// The evidence that it fails.
    pub evidence: &'static [Evidence],
}

/// The evidence that an attack fails.
#[derive(Debug)]
pub enum Evidence {
    /// The attack goes through [`assert_contained`](crate::containment::assert_contained).
    Contained(Attack),
    /// A test of the suite with this name.
    Test(&'static str),
    /// A test of the suite that takes so long that it is ignored by default.
    Soak(&'static str),
    /// No test can show it, for this reason.
    Untestable(&'static str),
}

/// The corpus, in the order of the ids.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    calls::ENTRIES
        .iter()
        .chain(descriptions::ENTRIES)
        .chain(files::ENTRIES)
        .chain(shipped_files::ENTRIES)
        .chain(handle_memory::ENTRIES)
        .chain(names::ENTRIES)
        .chain(quota::ENTRIES)
        .chain(schemas::ENTRIES)
        .chain(advisories::ENTRIES)
        .chain(blocked_threads::ENTRIES)
        .chain(host_function_calls::ENTRIES)
        .chain(clients::ENTRIES)
        .chain(tasks::ENTRIES)
}

/// The attacks that are calls and use much processor time of the guest or the server: three attackers make them at
/// once.
pub fn parallel_attacks() -> impl Iterator<Item = (&'static Entry, &'static Attack)> {
    let found = entries().filter(|entry| entry.id.starts_with(['F', 'S']));
    let attacks = found.flat_map(|entry| entry.attacks().map(move |attack| (entry, attack)));
    attacks.filter(|(_, attack)| matches!(attack.action, AttackAction::Calls { .. }))
}

impl Entry {
    /// The attacks for which all eight points are asserted.
    pub fn attacks(&self) -> impl Iterator<Item = &'static Attack> {
        self.evidence.iter().filter_map(|evidence| match evidence {
            Evidence::Contained(attack) => Some(attack),
            Evidence::Test(_) | Evidence::Soak(_) | Evidence::Untestable(_) => None,
        })
    }

    /// The name in tests and tables.
    pub fn title(&self) -> String {
        format!("{} {}", self.id, self.name)
    }

    /// Its guests in `tests/guests/examples`, as far as the table knows them.
    pub fn guests(&self) -> impl Iterator<Item = &'static str> {
        self.attacks().filter_map(|attack| match attack.source {
            Source::Guest(name) | Source::Variant(name, _) => Some(name),
            Source::Wat(_) | Source::Made(_) | Source::Adapter(_) => None,
        })
    }
}
