//! Files, directories and networks: attacks on grants and on loading.

use super::Evidence::{Contained, Soak, Test, Untestable};
use super::{Attack, AttackGrant, Entry, Source};

const READ: AttackGrant = AttackGrant::Directory { write: false };
const WRITE: AttackGrant = AttackGrant::Directory { write: true };

/// Times that are short enough for a test.
const SHORT: &str = "limits = { http_ms = 200, wall_ms = 20_000 }";

/// A file that is rejected when the server starts.
const fn file(name: &'static str, says: &'static str) -> super::Evidence {
    Contained(Attack::rejected(Source::Made(name), says))
}

/// An entry that one test of the suite shows.
const fn entry(
    id: &'static str,
    name: &'static str,
    what: &'static str,
    evidence: &'static [super::Evidence],
) -> Entry {
    Entry { id, name, what, evidence }
}

pub(super) const ENTRIES: &[Entry] = &[
    entry(
        "H18",
        "path_dotdot",
        "climbs out of a granted directory by its path",
        &[
            Contained(
                Attack::call("hostile_path_dotdot", "escape", "ok", "not-permitted")
                    .arguments(r#"{"directory": "/d", "outside": "canary.txt", "host": "{file}"}"#)
                    .granted(READ),
            ),
            Contained(
                Attack::call("hostile_path_dotdot", "escape", "ok", "not-permitted")
                    .arguments(r#"{"directory": "/d", "outside": "canary.txt", "host": "{file}"}"#)
                    .granted(WRITE),
            ),
            Test("hostile_path_dotdot"),
        ],
    ),
    entry(
        "H19",
        "symlink_escape",
        "climbs out by links",
        &[
            Contained(
                Attack::call("hostile_symlink_escape", "follow", "ok", "not-permitted")
                    .arguments(r#"{"directory": "/d", "links": {links}}"#)
                    .granted(READ),
            ),
            Contained(
                Attack::call("hostile_symlink_escape", "follow", "ok", "not-permitted")
                    .arguments(r#"{"directory": "/d", "links": {links}}"#)
                    .granted(WRITE),
            ),
            Contained(
                Attack::call("hostile_symlink_escape", "make", "ok", "not-permitted")
                    .arguments(r#"{"directory": "/d", "targets": ["../canary.txt", "/etc/passwd", ".."]}"#)
                    .granted(WRITE),
            ),
            Test("hostile_symlink_escape"),
            Test("hostile_symlink_escape_without_permission"),
        ],
    ),
    entry(
        "H20",
        "proc_probe",
        "reads /proc, /dev, /sys and /etc",
        &[
            Contained(
                Attack::call("hostile_proc_probe", "probe", "ok", "No such file")
                    .arguments(r#"{}"#)
                    .granted(READ),
            ),
            Contained(Attack::call("hostile_proc_probe", "probe", "ok", "No such file")),
            Test("hostile_proc_probe"),
        ],
    ),
    entry(
        "H21",
        "disk_filler",
        "fills the disk",
        &[
            Contained(
                Attack::call("hostile_disk_filler", "fill", "ok", "os error 29")
                    .arguments(r#"{"directory": "/d"}"#)
                    .granted(WRITE)
                    .times(25),
            ),
            Contained(
                Attack::call("hostile_disk_filler", "pour", "ok", "quota")
                    .arguments(r#"{"directory": "/d"}"#)
                    .granted(WRITE)
                    .times(25),
            ),
            Contained(
                Attack::call("hostile_disk_filler", "append_all", "ok", "os error 29")
                    .arguments(r#"{"directory": "/d"}"#)
                    .granted(WRITE),
            ),
            Contained(
                Attack::call("hostile_disk_filler", "crowd", "ok", "Quota exceeded")
                    .arguments(r#"{"directory": "/d"}"#)
                    .granted(WRITE),
            ),
            Contained(
                Attack::call("hostile_disk_filler", "sparse", "ok", "Quota exceeded")
                    .arguments(r#"{"directory": "/d"}"#)
                    .granted(WRITE),
            ),
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
        &[
            Contained(
                Attack::call("hostile_ssrf_literals", "probe", "ok", "HttpRequestDenied")
                    .arguments(r#"{"port": {port}}"#)
                    .granted(AttackGrant::BadWebServer)
                    .configured("limits = { wall_ms = 60_000 }")
                    .times(5),
            ),
            Test("hostile_ssrf_literals"),
        ],
    ),
    entry(
        "H23",
        "ssrf_redirect",
        "is sent on to another address",
        &[
            Contained(
                Attack::call("hostile_ssrf_redirect", "follow", "ok", "1 hops")
                    .arguments(r#"{"url": "http://{authority}/redirect?http://127.0.0.1:{port}/"}"#)
                    .granted(AttackGrant::BadWebServer),
            ),
            Contained(
                Attack::call("hostile_ssrf_redirect", "follow", "ok", "16 hops")
                    .arguments(r#"{"url": "http://{authority}/loop"}"#)
                    .granted(AttackGrant::BadWebServer)
                    .times(25),
            ),
            Test("hostile_ssrf_redirect"),
        ],
    ),
    entry(
        "H24",
        "dns_rebind",
        "names a host whose address changes",
        &[
            Test("a_name_that_resolves_to_this_machine_is_denied"),
            Untestable(
                "an answer that changes between two look-ups, since the machine's own resolver is asked; with another one, \
                 `an_answer_that_turns_private_is_refused`, `one_address_that_is_not_public_refuses_all` and \
                 `a_name_is_looked_up_once_and_that_very_address_is_dialled` in `runtime/src/capability/http/egress/tests.rs` show it",
            ),
        ],
    ),
    entry(
        "H24b",
        "http_bomb",
        "fetches without end, and from who never ends",
        &[
            Contained(
                Attack::call("hostile_http_bomb", "pull", "ok", "HttpResponseBodySize")
                    .arguments(r#"{"authority": "{authority}", "path": "/endless"}"#)
                    .granted(AttackGrant::BadWebServer)
                    .times(5),
            ),
            Contained(
                Attack::call("hostile_http_bomb", "pull", "ok", "HttpResponseTimeout")
                    .arguments(r#"{"authority": "{authority}", "path": "/drip"}"#)
                    .granted(AttackGrant::BadWebServer)
                    .configured(SHORT)
                    .times(10),
            ),
            Contained(
                Attack::call("hostile_http_bomb", "pull", "ok", "HttpResponseTimeout")
                    .arguments(r#"{"authority": "{authority}", "path": "/silent"}"#)
                    .granted(AttackGrant::BadWebServer)
                    .configured(SHORT)
                    .times(10),
            ),
            Contained(
                Attack::call("hostile_http_bomb", "pull", "ok", "HttpResponseHeaderSectionSize")
                    .arguments(r#"{"authority": "{authority}", "path": "/headers"}"#)
                    .granted(AttackGrant::BadWebServer)
                    .configured(SHORT),
            ),
            Contained(
                Attack::call("hostile_http_bomb", "pull", "ok", "200 100000 end")
                    .arguments(r#"{"authority": "{authority}", "path": "/gzip"}"#)
                    .granted(AttackGrant::BadWebServer)
                    .configured(SHORT),
            ),
            Contained(
                Attack::call("hostile_http_bomb", "pull", "ok", "HttpProtocolError")
                    .arguments(r#"{"authority": "{authority}", "path": "/garbage"}"#)
                    .granted(AttackGrant::BadWebServer)
                    .configured(SHORT),
            ),
            Contained(
                Attack::call("hostile_http_bomb", "parallel", "ok", "ConnectionLimitReached")
                    .arguments(r#"{"authority": "{authority}", "path": "/", "count": 1000}"#)
                    .granted(AttackGrant::BadWebServer)
                    .times(5),
            ),
            Contained(
                Attack::call("hostile_http_bomb", "forget", "ok", "forgotten")
                    .arguments(r#"{"authority": "{authority}", "path": "/silent"}"#)
                    .granted(AttackGrant::BadWebServer),
            ),
            Test("hostile_http_bomb"),
            Test("of_ten_thousand_requests_four_run_at_once"),
            Test("an_unfinished_request_ends_with_its_call"),
        ],
    ),
    entry(
        "H24c",
        "http_client",
        "begins requests and reads no response, waits for one of them very often, hands over megabytes",
        &[
            Contained(
                Attack::call("hostile_http_client", "hoard", "ok", "16 begun, 4 answered")
                    .arguments(r#"{"url": "http://{authority}/endless", "count": 1000}"#)
                    .granted(AttackGrant::BadWebServer)
                    .configured("limits = { http_ms = 500, cpu_ms = 20_000 }")
                    .times(5),
            ),
            Contained(
                Attack::call("hostile_http_client", "crowd", "limit", "holds more than 1024 handles")
                    .arguments(r#"{"url": "http://{authority}/silent", "count": 100000}"#)
                    .granted(AttackGrant::BadWebServer)
                    .configured("limits = { cpu_ms = 20_000 }")
                    .times(10),
            ),
            Contained(
                Attack::call("hostile_http_client", "flood", "ok", "http_request_kib")
                    .arguments(r#"{"url": "http://{authority}/silent"}"#)
                    .granted(AttackGrant::BadWebServer)
                    .configured("limits = { cpu_ms = 20_000 }")
                    .times(10),
            ),
            Contained(
                Attack::call("hostile_http_client", "texts", "ok", "invalid, invalid, http_header_kib")
                    .arguments(r#"{"url": "http://{authority}/"}"#)
                    .granted(AttackGrant::BadWebServer)
                    .configured("limits = { cpu_ms = 20_000 }")
                    .times(5),
            ),
            Test("hostile_http_client"),
        ],
    ),
    entry(
        "H26b",
        "fd_exhaustion",
        "opens files without closing them",
        &[
            Contained(
                Attack::call("hostile_fd_exhaustion", "files", "ok", "32: ")
                    .arguments(r#"{"path": "/d/own.txt"}"#)
                    .granted(READ),
            ),
            Contained(
                Attack::call("hostile_fd_exhaustion", "listings", "ok", "32: ")
                    .arguments(r#"{"directory": "/d"}"#)
                    .granted(READ),
            ),
            Contained(
                Attack::call("hostile_fd_exhaustion", "streams", "ok", "32: ")
                    .arguments(r#"{"directory": "/d", "name": "own.txt"}"#)
                    .granted(READ),
            ),
            Contained(
                Attack::call("hostile_fd_exhaustion", "sockets", "ok", "Permission denied")
                    .arguments(r#"{}"#)
                    .granted(READ),
            ),
            Test("hostile_fd_exhaustion"),
        ],
    ),
    entry(
        "H30",
        "truncated",
        "empty, cut, random and flipped files",
        &[
            file("empty", "is empty; build or copy it again"),
            file("one_byte", "is truncated"),
            file("half", "is damaged or truncated"),
            file("short", "is damaged or truncated"),
            file("noise", "is damaged or truncated"),
            file("flipped", "is damaged or truncated"),
            Test("damaged_files_are_invalid_and_never_make_the_compiler_fail"),
            Soak("soak_damaged_files"),
        ],
    ),
    entry(
        "H31",
        "core_module",
        "a core module",
        &[file("core_module", "is a core WebAssembly module, not a component")],
    ),
    entry(
        "H32",
        "wrong_world",
        "a component of another world or version",
        &[
            file("other_world", "is a component of another world"),
            file("later_version", "was built for plugport:plugin@0.9.0"),
            file("hollow", "does not fit this server's interfaces"),
            Test("bad_files_are_skipped_with_one_line_each"),
        ],
    ),
    entry(
        "H33",
        "wrong_kind",
        "text, ELF, archives and compiled code named .wasm",
        &[
            file("text", "is not WebAssembly"),
            file("page", "is not WebAssembly"),
            file("program", "is not WebAssembly"),
            file("archive", "is not WebAssembly"),
            file("compressed", "is not WebAssembly"),
            file("compiled", "is not WebAssembly"),
        ],
    ),
    entry("H34", "huge_file", "500 MB, and 100 GB of nothing", &[Test("hostile_huge_file")]),
    entry(
        "H35",
        "compile_bomb",
        "code that takes long to compile",
        &[Test("hostile_compile_bomb"), Test("calls_do_not_wait_while_a_bomb_compiles")],
    ),
    entry(
        "H36",
        "slow_writer",
        "changes while it is read",
        &[
            Test("a_file_that_is_written_slowly_is_loaded_when_it_is_whole"),
            Test("a_version_that_cannot_be_served_leaves_the_old_one"),
            Test("a_file_that_is_replaced_while_it_is_read_is_read_again"),
        ],
    ),
    entry(
        "H37",
        "deleted_mid_call",
        "goes away during a call, or loses its permissions",
        &[
            Test("a_call_ends_with_the_version_it_began_with"),
            Test("a_folder_that_goes_and_comes_back_is_followed"),
            Test("a_plugin_whose_file_becomes_unreadable_stays_as_it_was"),
        ],
    ),
    entry(
        "H38",
        "not_a_file",
        "FIFO, socket, directory, device, links and loops of them",
        &[
            Test("files_that_are_not_regular_are_rejected_at_once"),
            Test("a_hard_link_is_served_and_followed"),
            Test("a_signature_that_is_no_file_blocks_and_crashes_nothing"),
        ],
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
            Test("very_many_files_cost_a_line_each_and_displace_no_good_one"),
            Test("a_storm_of_changes_delays_no_call"),
        ],
    ),
    entry(
        "H41",
        "editor_files",
        "what editors and copy programs leave",
        &[Test("temporary_files_of_editors_are_ignored")],
    ),
    entry(
        "H42",
        "twins",
        "two files of one name, or of the same bytes",
        &[Test("copies_of_a_file_do_not_disturb_each_other")],
    ),
];
