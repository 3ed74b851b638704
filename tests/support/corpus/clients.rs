//! Attacks of clients, with and without a hostile guest.

use super::Entry;
use super::Evidence::{Soak, Test};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "F9",
        name: "echoed_fields",
        what: "sends ids and progress tokens of megabytes, which come back in every message",
        evidence: &[
            Test("a_progress_token_of_megabytes_costs_no_more_than_its_request"),
            Test("an_id_of_megabytes_costs_no_more_than_its_request"),
        ],
    },
    Entry {
        id: "F10",
        name: "unread_answers",
        what: "asks for megabytes and does not read them, or leaves before they come",
        evidence: &[
            Test("unread_responses_are_bounded"),
            Test("responses_in_abandoned_sessions_are_bounded"),
        ],
    },
    Entry {
        id: "F11",
        name: "many_sessions",
        what: "begins sessions and never uses them",
        evidence: &[Test("a_new_client_gets_a_session_after_ten_thousand_that_nobody_uses")],
    },
    Entry {
        id: "F12",
        name: "unfinished_requests",
        what: "sends requests without an end, or hardly at all",
        evidence: &[
            Test("bodies_that_never_end_are_bounded"),
            Test("silent_connections_make_room_for_others"),
        ],
    },
    Entry {
        id: "F13",
        name: "large_arguments",
        what: "sends what is dear to read: megabytes of arguments, large answers to large forms",
        evidence: &[
            Test("arguments_of_megabytes_from_eight_clients_slow_nobody"),
            Test("deep_and_wide_json_slows_nobody"),
            Test("a_form_of_as_many_choices_as_there_may_be_slows_nobody"),
        ],
    },
    Entry {
        id: "F15",
        name: "foreign_pages",
        what: "lets a page of another site connect",
        evidence: &[Test("a_page_of_another_site_opens_no_stream")],
    },
    Entry {
        id: "F16",
        name: "crowd",
        what: "does all of it at once, from many clients and plugins, on a small machine",
        evidence: &[Soak("soak_many_clients_and_plugins_stay_within_a_gibibyte")],
    },
];
