//! Attacks by tasks, of clients and of guests.
//!
//! The letter T stands for them. A guest can only begin a task for a client that knows tasks, so that client makes the
//! calls here.

use super::Evidence::{Contained, Soak, Test};
use super::{Attack, Entry};

const LITTLE_FUEL: &str = "limits = { fuel = 5_000_000 }";
const ASKS: &str = "limits = { fuel = 5_000_000, client_requests = 4 }\ngrants = { elicitation = true }";
const AT_ONCE: &str = "limits = { task_after_ms = 1 }";

const OUT_OF_FUEL: &str = "it used up its 5000000 units of fuel (limit `fuel`)";

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "T1",
        name: "task_flood",
        what: "makes tasks without end, and cancels some of them",
        evidence: &[
            Test("tasks_without_end_are_bounded_and_slow_nobody"),
            Soak("soak_tasks_of_a_million_calls_are_bounded"),
        ],
    },
    Entry {
        id: "T2",
        name: "task_ids",
        what: "gets, answers, cancels and listens to tasks by ids that are guessed, altered or another principal's",
        evidence: &[
            Test("an_id_of_another_principal_is_answered_like_one_that_never_was"),
            Test("listeners_learn_nothing_from_ids_of_others"),
            Test("guesses_without_end_find_no_task_and_slow_nobody"),
        ],
    },
    Entry {
        id: "T3",
        name: "endless_questions",
        what: "detaches and asks without end",
        evidence: &[
            Contained(
                Attack::call("hostile_tasks", "detach", "limit", OUT_OF_FUEL)
                    .configured(LITTLE_FUEL)
                    .as_task(),
            ),
            Contained(
                Attack::call("hostile_tasks", "ask", "limit", OUT_OF_FUEL)
                    .configured(ASKS)
                    .times(10)
                    .as_task(),
            ),
        ],
    },
    Entry {
        id: "T4",
        name: "unread_tasks",
        what: "floods a task with progress, and does not read the notifications of its end",
        evidence: &[
            Contained(
                Attack::call("hostile_progress_flood", "flood", "ok", "told")
                    .arguments(r#"{"steps": 5000}"#)
                    .configured(AT_ONCE)
                    .times(10)
                    .as_task(),
            ),
            Test("listeners_that_do_not_read_are_bounded_and_slow_nobody"),
        ],
    },
    Entry {
        id: "T5",
        name: "task_answers",
        what: "answers the questions of tasks with megabytes, in pieces, and with nonsense",
        evidence: &[
            Test("answers_that_are_nonsense_leave_the_task_waiting"),
            Test("answers_of_megabytes_in_pieces_are_bounded"),
        ],
    },
];
