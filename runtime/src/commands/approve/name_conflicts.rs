//! Finds conflicts between the names of a plugin and those of other plugins, for its approval.
//!
//! An item whose name belongs to another plugin is not approved with this one: when the other one's file goes, the name
//! needs an approval of its own. The operator sees such items, and the names that change owners when this plugin is
//! approved.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::approval::{ApprovedPlugin, Lockfile};
use crate::catalog::{NameOwners, RejectedItem, published_key};
use crate::config::Config;
use crate::observe::Escaped;
use crate::plugin::ItemKind;
use crate::watch;

/// Which plugin owns which names once this plugin is approved.
pub(super) fn owners(config: &Config, files: &[PathBuf], old: &Lockfile, plugin: &str) -> NameOwners {
    let files = files.iter().map(PathBuf::as_path);
    watch::owners(config, files, |name: &str| name == plugin || old.get(name).is_some())
}

/// The approved plugins that would be withheld once this one is approved, because their names look alike. One escaped
/// line each.
pub(super) fn newly_withheld(
    owners: &NameOwners,
    config: &Config,
    files: &[PathBuf],
    old: &Lockfile,
    plugin: &str,
) -> Vec<String> {
    let paths = files.iter().map(PathBuf::as_path);
    let before = watch::owners(config, paths, |name: &str| old.get(name).is_some());
    let others = old.names().filter(|other| *other != plugin && before.withheld(other).is_none());
    let withheld = others.filter_map(|other| Some((other, owners.withheld(other)?)));
    withheld
        .map(|(other, why)| Escaped(&format!("note: `{other}` would be withheld too: {why}")).to_string())
        .collect()
}

/// Notes on a plugin's names, one escaped line each: its items whose names belong to other plugins, approved names of
/// others that belong to it, and approved names of others that look the same and belong to nobody.
pub(super) fn notes(
    owners: &NameOwners,
    plugin: &str,
    now: &ApprovedPlugin,
    conflicting: &[RejectedItem],
    old: &Lockfile,
) -> Vec<String> {
    let withheld = owners.withheld(plugin).map(|why| format!("note: it would be withheld: {why}"));
    let conflicting = conflicting.iter().map(|RejectedItem { kind, name, why, .. }| {
        format!("note: the {} `{name}` is not approved with it: {why}", kind.as_str())
    });
    let mut notes: Vec<String> = withheld.into_iter().chain(conflicting).collect();
    let own: HashSet<(&str, String)> =
        keys(owners, plugin, now).map(|(kind, key)| (kind.as_str(), key)).collect();
    for other in old.names().filter(|other| *other != plugin && owners.contains(other)) {
        let Some(approved) = old.get(other) else { continue };
        for (kind, key) in keys(owners, other, approved) {
            if owners.prefers(plugin, other, kind, &key) {
                notes.push(format!("note: `{key}`, which was approved of `{other}`, belongs to it"));
                continue;
            }
            let item = (kind.as_str(), key);
            if own.contains(&item) {
                let (_, key) = item;
                notes.push(format!("note: `{key}` was approved of `{other}` too, and only one can have it"));
            }
        }
    }
    notes.iter().map(|note| Escaped(note).to_string()).collect()
}

/// The names and URIs under which clients see the approved items.
fn keys<'a>(
    owners: &'a NameOwners,
    plugin: &'a str,
    approved: &'a ApprovedPlugin,
) -> impl Iterator<Item = (ItemKind, String)> + 'a {
    ItemKind::ALL.into_iter().flat_map(move |kind| {
        let names = approved.items(kind).keys();
        names.filter_map(move |name| Some((kind, published_key(kind, owners.prefix(plugin), name)?)))
    })
}
