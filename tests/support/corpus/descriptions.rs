//! A plugin's names, descriptions and schemas.

use super::Evidence::{Contained, Test, Untestable};
use super::{Attack, Entry, Source};

const NAMES: &str = "hostile_names";
const SCHEMAS: &str = "hostile_schemas";
const OK: &[&str] = &["ok"];

const fn names(variant: u8, says: &'static [&'static str]) -> Attack {
    Attack::published(Source::Variant(NAMES, variant), OK, says)
}

const fn schemas(variant: u8, tools: &'static [&'static str], says: &'static [&'static str]) -> Attack {
    Attack::published(Source::Variant(SCHEMAS, variant), tools, says)
}

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "H27",
        name: "shape_shifter",
        what: "is listed differently each time: names, words, schemas",
        evidence: &[
            Contained(Attack::call("hostile_changing_listing", "shift", "ok", "shifted")),
            Test("a_changed_listing_of_a_running_plugin_waits_for_approval"),
        ],
    },
    Entry {
        id: "H28",
        name: "names",
        what: "names that hide, collide, climb, or are too many",
        evidence: &[
            Contained(names(0, &["the name is empty", "the name has the character"])),
            Contained(names(
                1,
                &["the name has the character `\\u{202e}`", "the name has the character `\\u{430}`"],
            )),
            Contained(names(
                2,
                &["the name has the character `\\u{2f}`", "the name has the character `\\u{3a}`"],
            )),
            Contained(names(3, &["the plugin already has a tool of this name"])),
            Contained(names(4, &["at most 128 are allowed"])),
            Contained(Attack::rejected(Source::Variant(NAMES, 6), "(limit `")),
            // Every backtrace would contain these names.
            Contained(Attack::rejected(Source::Made("long_names"), "the name of a function is longer than")),
            Test("only_so_many_tools_are_published"),
            Test("a_later_plugin_never_takes_an_earlier_ones_name"),
        ],
    },
    Entry {
        id: "H29",
        name: "schemas",
        what: "schemas that are none, too large, endless, remote or dear; words that give orders or hide; strange URIs",
        evidence: &[
            Contained(schemas(
                0,
                OK,
                &["not published: text: ", "not published: unclosed: ", "not published: two: "],
            )),
            Contained(schemas(1, OK, &["(limit `schema_kib`)", "nested deeper than 32 levels"])),
            Contained(schemas(
                2,
                &["dialect", "mutual", "ok", "self"],
                &[
                    "its schema refers to `http://127.0.0.1:1/schema.json`",
                    "its schema refers to `file:///etc/passwd`",
                ],
            )),
            Contained(schemas(3, &["backtrack", "ok", "tower"], &["not published: repeat: "])),
            Contained(schemas(
                4,
                &["ok", "orders", "twin"],
                &["its description has the character", "longer than 4 KiB"],
            )),
            Test("endless_schemas_end_a_call_in_words"),
            Untestable("that words which give orders to a model are found: what is meant cannot be checked"),
        ],
    },
];
