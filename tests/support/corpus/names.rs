//! The names of plugins and of their items.

use super::Entry;
use super::Evidence::{Test, Untestable};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "N1",
        name: "squatted_name",
        what: "lists names that belong to a plugin with a longer name, before it, after it, or while it cannot be loaded",
        evidence: &[
            Test("a_name_goes_to_the_plugin_that_it_names_although_another_was_first"),
            Test("a_name_goes_to_the_plugin_that_it_names_although_another_comes_later_and_after_a_restart"),
            Test("a_plugin_that_cannot_be_served_keeps_its_names"),
            Test("approving_reports_name_conflicts_and_a_name_that_changes_its_plugin_waits_for_it"),
        ],
    },
    Entry {
        id: "N2",
        name: "borrowed_prefix",
        what: "brings a file that gives it another plugin's prefix",
        evidence: &[Test("a_sidecar_gives_its_plugin_no_other_name")],
    },
    Entry {
        id: "N3",
        name: "look_alike",
        what: "is called like another plugin but for case, separators, width or characters that look alike",
        evidence: &[
            Test("plugins_whose_names_look_alike_wait_until_the_operator_says_which_is_meant"),
            Untestable("that two words which mean the same are found: mail and post are two names"),
        ],
    },
    Entry {
        id: "N4",
        name: "squatted_uri",
        what: "lists URIs and templates of another plugin, or such that could be taken for them",
        evidence: &[Test("a_uri_is_read_by_the_plugin_that_it_names")],
    },
];
