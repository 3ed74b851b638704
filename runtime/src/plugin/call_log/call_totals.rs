//! Counts of calls over all versions of a plugin, so that a sum does not begin again when a file is replaced.
//!
//! Each version counts for itself. The totals know the counters of versions that are in use, and what those counted
//! that are gone. A plugin whose last version is gone is forgotten, so names that come and go do not pile up.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::counters::{CounterSnapshot, Counters};

/// The counts of all plugins.
#[derive(Debug, Default)]
pub struct CallTotals {
    by_plugin: Mutex<BTreeMap<Arc<str>, PluginTotals>>,
}

#[derive(Debug, Default)]
struct PluginTotals {
    /// What versions counted that are gone.
    past: CounterSnapshot,
    versions: Vec<Arc<Counters>>,
}

impl CallTotals {
    /// The counts of each plugin with a version that is loaded, by name.
    #[must_use]
    pub fn read(&self) -> Vec<(Arc<str>, CounterSnapshot)> {
        let by_plugin = self.by_plugin.lock();
        let totals = by_plugin.iter().map(|(name, totals)| {
            let mut sum = totals.past.clone();
            totals.versions.iter().for_each(|counters| sum.add(&counters.read()));
            (Arc::clone(name), sum)
        });
        totals.collect()
    }

    /// Adds the counters of a version.
    pub(super) fn add(&self, plugin: &Arc<str>, counters: &Arc<Counters>) {
        let mut by_plugin = self.by_plugin.lock();
        by_plugin.entry(Arc::clone(plugin)).or_default().versions.push(Arc::clone(counters));
    }

    /// Removes the counters of a version whose last call has ended; the plugin's sums stay as long as it has another
    /// version.
    pub(super) fn remove(&self, plugin: &str, counters: &Arc<Counters>) {
        let mut by_plugin = self.by_plugin.lock();
        let Some(totals) = by_plugin.get_mut(plugin) else { return };
        totals.versions.retain(|other| !Arc::ptr_eq(other, counters));
        totals.past.add(&counters.read());
        if totals.versions.is_empty() {
            by_plugin.remove(plugin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::counters::CallEnd;
    use super::*;
    use std::time::Duration;

    fn call(counters: &Counters) {
        counters.began();
        counters.ended(CallEnd::Ok, 5, Duration::ZERO);
    }

    #[test]
    fn sums_go_on_when_a_version_replaces_another_and_end_with_the_last() {
        let (totals, name) = (CallTotals::default(), Arc::<str>::from("p"));
        let [old, new] = [(); 2].map(|()| Arc::new(Counters::default()));
        totals.add(&name, &old);
        call(&old);
        old.hit("fuel");
        totals.add(&name, &new);
        call(&new);
        call(&old);
        let sums =
            |totals: &CallTotals| totals.read().iter().map(|(_, sum)| (sum.ok, sum.fuel)).collect::<Vec<_>>();
        assert_eq!(sums(&totals), [(3, 15)]);
        totals.remove("p", &old);
        assert_eq!(sums(&totals), [(3, 15)]);
        assert_eq!(totals.read()[0].1.limits, BTreeMap::from([("fuel", 1)]));
        call(&new);
        assert_eq!(sums(&totals), [(4, 20)]);
        totals.remove("p", &new);
        assert!(totals.read().is_empty());
    }

    #[test]
    fn names_that_come_and_go_do_not_pile_up() {
        let totals = CallTotals::default();
        for number in 0..1_000 {
            let (name, counters) = (Arc::from(number.to_string()), Arc::new(Counters::default()));
            totals.add(&name, &counters);
            totals.remove(&name, &counters);
        }
        assert!(totals.by_plugin.lock().is_empty());
    }
}
