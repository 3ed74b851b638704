//! Bounds on plugins and clients that are not keys of the configuration: each fits every plugin that was seen, and
//! raising one would mostly help an attacker. A bound that an operator may have reason to change is a key of
//! [`Limits`](super::Limits) or of `[server]`.
//!
//! The unit is part of the name. A bound of one mechanism only, such as the length of a queue, is in its module.

/// Host resources (streams, files, clocks) that one call may hold at once: each takes memory in the server.
pub const HANDLES: u64 = 1_024;

/// Entries of one function table: the engine's pool reserves memory for as many in every instance.
pub const TABLE_ELEMENTS: u64 = 20_000;

/// Core modules instantiated inside one component. The engine's pool counts them in advance.
pub const CORE_INSTANCES: u32 = 64;

/// Random bytes that one host call may ask for: they are made in one go, which nothing interrupts.
pub const RANDOM_KIB: u64 = 4;

/// Content blocks, contents or messages in one result: each costs the client more than its bytes.
pub const CONTENT_ITEMS: usize = 1_000;

/// Calls that wait for a permit, for each that may run: more would only wait until `wall_ms` is over.
pub const QUEUED_PER_CALL: u64 = 4;

/// Completions of one plugin in a second: they come with every key that a user presses.
pub const COMPLETIONS_PER_SECOND: u64 = 50;

/// Requests of one session, or of one stdio client, under way at the same time: each is remembered until it ends.
pub const REQUESTS_PER_SESSION: usize = 128;

/// Seconds for which the tool that waits for the result of a bridged call does so: clients give up after a minute.
pub const TASK_RESULT_S: u64 = 30;

/// Length of one line of log, whose rest is cut: a line is for people.
pub const LOG_LINE_BYTES: usize = 4_096;

/// Seconds in which `log_kib` may be written again, by all calls of one plugin together.
pub const LOG_REFILL_S: u64 = 4;

/// Progress notifications of one call in a second; those in between are skipped, since each one is the newest.
pub const PROGRESS_PER_SECOND: u64 = 10;

/// Elicitation requests of one call: a user answers each of them by hand.
pub const ELICITATIONS: u64 = 8;

/// Size of one client request: it is in memory until the client has responded.
pub const CLIENT_REQUEST_KIB: u64 = 256;

/// Header fields of one HTTP request or response, and the path with its query: they are in memory whole.
pub const HTTP_HEADER_KIB: u64 = 16;

/// Resource templates that one plugin may list: each may be compared with every URI that is read or subscribed to.
pub const RESOURCE_TEMPLATES: u64 = 64;

/// Prompts that one plugin may list: users choose from them.
pub const PROMPTS: u64 = 256;

/// Arguments of one prompt: users fill them in.
pub const PROMPT_ARGUMENTS: usize = 32;

/// Length of one URI or URI template: they are listed, compared and sent back whole.
pub const URI_BYTES: usize = 2_048;

/// Name, title and description of one item, or of one prompt argument; and its further fields: models read all of it.
pub const DESCRIPTION_KIB: u64 = 4;

/// Nesting of one JSON Schema: validation recurses.
pub const SCHEMA_DEPTH: u64 = 32;

/// Regular expressions in all JSON Schemas of one plugin: each is compiled when the plugin is loaded.
pub const PATTERNS: u64 = 128;

/// Memory of one compiled regular expression in a JSON Schema, which is kept while the plugin is loaded.
pub const PATTERN_KIB: u64 = 256;

/// Linear memory of all idle instances together, or a quarter of `guest_memory_mib` if that is less: running calls come
/// first.
pub const IDLE_INSTANCES_MIB: u64 = 512;

/// The bounds that can end or reject a call, under the names that the audit and the status document have for them.
const OF_CALLS: [(&str, u64); 7] = [
    ("handles", HANDLES),
    ("table_elements", TABLE_ELEMENTS),
    ("core_instances", CORE_INSTANCES as u64),
    ("random_kib", RANDOM_KIB),
    ("content_items", CONTENT_ITEMS as u64),
    ("completions_per_second", COMPLETIONS_PER_SECOND),
    ("http_header_kib", HTTP_HEADER_KIB),
];

/// A bound that can end or reject a call, by its name; `None` for the name of a key.
#[must_use]
pub fn of_call(name: &str) -> Option<u64> {
    OF_CALLS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::super::Limits;
    use super::*;

    #[test]
    fn no_name_is_both_a_constant_and_a_key() {
        assert!(OF_CALLS.iter().all(|(name, _)| !Limits::names().contains(name)));
        assert_eq!((of_call("handles"), of_call("fuel")), (Some(1_024), None));
    }
}
