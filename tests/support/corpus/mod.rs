//! The hostile corpus: a table of everything that an untrusted component may try, with the evidence that it fails.
//!
//! An entry without a test is a promise that nobody checks, so the suite compares this table with its own sources and
//! fails when a test is missing (`every_entry_is_tested`). The letters are those of the threat model: H was thought of
//! in advance, A comes from advisories on Wasmtime, F was found by attacking a version from outside, N is about names,
//! Q about quotas, and S about work of the server itself.

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

use crate::containment::{Attack, AttackAction, AttackGrant, ENDED, Source};

/// What the corpus has of one idea.
#[derive(Debug)]
pub struct Entry {
    /// For example `H1`.
    pub id: &'static str,
    /// For example `loop_in_call`.
    pub name: &'static str,
    /// What it tries.
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
    /// A test of the suite that takes so long that it only runs when somebody asks for it.
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
        .chain(handle_memory::ENTRIES)
        .chain(names::ENTRIES)
        .chain(quota::ENTRIES)
        .chain(schemas::ENTRIES)
        .chain(advisories::ENTRIES)
        .chain(blocked_threads::ENTRIES)
        .chain(host_function_calls::ENTRIES)
        .chain(clients::ENTRIES)
}

/// The attacks that are calls and take time, the guest's own or the server's: those that three attackers make at once.
pub fn parallel_attacks() -> impl Iterator<Item = (&'static Entry, &'static Attack)> {
    let found = entries().filter(|entry| entry.id.starts_with(['F', 'S']));
    let attacks = found.flat_map(|entry| entry.attacks().map(move |attack| (entry, attack)));
    attacks.filter(|(_, attack)| matches!(attack.action, AttackAction::Calls { .. }))
}

impl Entry {
    /// What goes through the eight points.
    pub fn attacks(&self) -> impl Iterator<Item = &'static Attack> {
        self.evidence.iter().filter_map(|evidence| match evidence {
            Evidence::Contained(attack) => Some(attack),
            Evidence::Test(_) | Evidence::Soak(_) | Evidence::Untestable(_) => None,
        })
    }

    /// How it is called in tests and tables.
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
