//! Files, directories and networks: what the tests of grants and of loading show.

use super::Entry;
use super::Shown::{Cannot, Test};

const NO_RELOAD: &str = "files are read when the server starts; there is no reload yet";

/// An entry that one test of the suite shows.
const fn entry(
    id: &'static str,
    name: &'static str,
    what: &'static str,
    shown: &'static [super::Shown],
) -> Entry {
    Entry { id, name, what, shown }
}

pub(super) const ENTRIES: &[Entry] = &[
    entry(
        "H18",
        "path_dotdot",
        "climbs out of a granted directory by its path",
        &[Test("hostile_path_dotdot")],
    ),
    entry("H19", "symlink_escape", "climbs out by links", &[Test("hostile_symlink_escape")]),
    entry("H20", "proc_probe", "reads /proc, /dev, /sys and /etc", &[Test("hostile_proc_probe")]),
    entry(
        "H21",
        "disk_filler",
        "fills the disk",
        &[
            Test("hostile_disk_filler_with_bytes"),
            Test("hostile_disk_filler_with_files"),
            Test("hostile_disk_filler_with_holes"),
            Test("hostile_disk_filler_with_deleted_files"),
            Test("hostile_disk_filler_without_permission"),
        ],
    ),
    entry(
        "H22",
        "ssrf_literals",
        "names the host's own addresses in every spelling",
        &[Test("hostile_ssrf_literals")],
    ),
    entry("H23", "ssrf_redirect", "is sent on to another address", &[Test("hostile_ssrf_redirect")]),
    entry(
        "H24",
        "dns_rebind",
        "names a host whose address changes",
        &[Test("a_name_that_leads_to_this_machine_is_refused")],
    ),
    entry("H24b", "http_bomb", "fetches without end, and from who never ends", &[Test("hostile_http_bomb")]),
    entry("H26b", "fd_exhaustion", "opens files without closing them", &[Test("hostile_fd_exhaustion")]),
    entry(
        "H30",
        "truncated",
        "empty, cut, random and flipped files",
        &[
            Test("damaged_files_are_invalid_and_never_make_the_compiler_fail"),
            Test("bad_files_are_skipped_with_one_line_each"),
        ],
    ),
    entry("H31", "core_module", "a core module", &[Test("bad_files_are_skipped_with_one_line_each")]),
    entry(
        "H32",
        "wrong_world",
        "a component of another world or version",
        &[Test("bad_files_are_skipped_with_one_line_each")],
    ),
    entry(
        "H33",
        "wrong_kind",
        "text, ELF, archives and compiled code named .wasm",
        &[Test("hostile_wrong_kind")],
    ),
    entry("H34", "huge_file", "500 MB, and 100 GB of nothing", &[Test("hostile_huge_file")]),
    entry(
        "H35",
        "compile_bomb",
        "code that takes long to compile",
        &[Test("hostile_compile_bomb"), Test("calls_do_not_wait_while_a_bomb_compiles")],
    ),
    entry("H36", "slow_writer", "changes while it is read", &[Cannot(NO_RELOAD)]),
    entry(
        "H37",
        "deleted_mid_call",
        "goes away during a call, or loses its permissions",
        &[Test("a_plugin_outlives_its_file"), Cannot(NO_RELOAD)],
    ),
    entry(
        "H38",
        "not_a_file",
        "FIFO, socket, directory, device, link loop",
        &[Test("what_is_no_regular_file_is_skipped_at_once")],
    ),
    entry(
        "H39",
        "strange_names",
        "names that are not UTF-8, or look like options",
        &[Test("strange_names_are_skipped_or_shown_escaped")],
    ),
    entry(
        "H40",
        "very_many",
        "more files than anyone has plugins",
        &[
            Test("very_many_files_cost_a_line_each_and_no_good_one_its_place"),
            Cannot("a hundred changes a second for a minute: there is no reload yet"),
        ],
    ),
    entry(
        "H41",
        "editor_files",
        "what editors and copy programs leave",
        &[Test("files_of_editors_are_left_alone")],
    ),
    entry(
        "H42",
        "twins",
        "two files of one name, or of the same bytes",
        &[Test("twins_do_not_disturb_each_other")],
    ),
];
