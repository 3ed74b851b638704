//! Every limit that a plugin runs under: one table, so that a reader sees all of them at once and a limit cannot exist
//! without a default that is safe for hostile code, a hard maximum and a reason.
//!
//! The unit is part of the name. `[limits]` in `plugport.toml` sets them for every plugin, `[plugins.NAME] limits` for one.

use std::time::Duration;

/// What the table says of one limit.
#[derive(Debug, Clone, Copy)]
pub struct LimitSpec {
    /// The key in the configuration; its last part is the unit.
    pub name: &'static str,
    /// What holds when nothing is configured.
    pub default: u64,
    /// What the configuration cannot exceed.
    pub max: u64,
    /// What the limit is for.
    pub why: &'static str,
}

macro_rules! limits {
    ($( $name:ident = $default:literal, at most $max:literal: $why:literal; )*) => {
        /// The limits of one plugin, resolved.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Limits {
            $( #[doc = $why] pub $name: u64, )*
        }

        impl Limits {
            /// The whole table, in the order of this file.
            pub const TABLE: &'static [LimitSpec] = &[
                $( LimitSpec { name: stringify!($name), default: $default, max: $max, why: $why }, )*
            ];

            /// One limit by its name; 0 when there is none of this name.
            #[must_use]
            pub fn get(&self, name: &str) -> u64 {
                match name {
                    $( stringify!($name) => self.$name, )*
                    _ => 0,
                }
            }

            fn field_mut(&mut self, name: &str) -> Option<&mut u64> {
                match name {
                    $( stringify!($name) => Some(&mut self.$name), )*
                    _ => None,
                }
            }
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $( $name: $default, )* }
            }
        }
    };
}

limits! {
    fuel = 2_000_000_000, at most 1_000_000_000_000:
        "Instructions per call, and as much again for work the host does for the guest; stops an endless loop, the same on every machine.";
    cpu_ms = 1_000, at most 600_000:
        "Processor time per call, that of other threads for it and of checking its result against the plugin's schema included, and as much again for checking its arguments; fuel alone cannot bound time, since a cache miss costs as little fuel as an addition.";
    wall_ms = 30_000, at most 600_000:
        "Time from the start of a call to its end, sleeping included.";
    startup_ms = 2_000, at most 60_000:
        "Time for a plugin to instantiate and to say what it offers.";
    memory_mib = 64, at most 1_024:
        "Linear memory of one instance, all its memories together. The engine converts a text that two instances of one component pass each other in one go, so other limits act up to a millisecond per MiB later.";
    table_elements = 20_000, at most 40_000:
        "Entries of one function table.";
    core_instances = 64, at most 64:
        "Core modules instantiated inside one component.";
    handles = 1_024, at most 100_000:
        "Host resources (streams, files, clocks) that one call may hold at once.";
    open_files = 32, at most 1_000:
        "Files and directories that one call may have open at once; with four times as many streams on them.";
    transfer_mib = 8, at most 128:
        "Bytes lifted out of the guest by one host call or result; guests can alias one buffer many times, so typed results amplify.";
    random_kib = 4, at most 65_536:
        "Random bytes that one host call may ask for.";
    result_kib = 4_096, at most 65_536:
        "Size of one result: of a tool, a resource, a prompt or a completion.";
    content_items = 1_000, at most 100_000:
        "Content blocks, contents or messages in one result.";
    log_kib = 1_024, at most 65_536:
        "Log text of one call: log messages, stdout and stderr together. What exceeds it is counted, not kept.";
    log_kib_per_second = 256, at most 65_536:
        "Log text of one plugin in a second, all its calls together; `log_kib` may come at once.";
    log_line_bytes = 4_096, at most 65_536:
        "Length of one line of log; the rest of it is cut.";
    progress_per_second = 10, at most 1_000:
        "Progress notifications of one call; those in between are skipped.";
    concurrent_calls = 16, at most 900:
        "Calls of one plugin that run at the same time.";
    queued_calls = 64, at most 100_000:
        "Calls of one plugin that wait for a place; beyond it they are refused.";
    tool_calls_per_second = 2_000, at most 1_000_000_000:
        "Calls of one tool in a second; as many may come at once.";
    completions_per_second = 50, at most 1_000_000_000:
        "Completions of one plugin in a second: they come with every key that someone presses.";
    quarantine_traps = 5, at most 1_000_000_000:
        "Calls in a row that had to be ended, within a minute of each other, after which the plugin is left alone.";
    quarantine_s = 30, at most 86_400:
        "For how long it is left alone the first time; each further time doubles, up to 64 times as long.";
    sampling_calls = 8, at most 1_000:
        "Questions that one call may ask the client's model.";
    sampling_tokens = 50_000, at most 100_000_000:
        "Tokens of all questions of one call to the client's model: what they allow the answers, and their own text at 4 bytes a token.";
    elicitations = 8, at most 1_000:
        "Questions that one call may ask the person at the client.";
    questions = 32, at most 1_000:
        "Questions that one call may ask the client: sampling, elicitation and roots together.";
    question_kib = 256, at most 16_384:
        "Size of one question to the client.";
    parked_calls = 32, at most 15_000:
        "Calls of one plugin that wait for the client's answers at the same time; the one that waits longest makes way.";
    http_requests = 16, at most 1_000:
        "HTTP requests that one call may send; a redirect that it follows is one more.";
    http_parallel = 4, at most 64:
        "HTTP requests of one call that are under way at the same time.";
    http_ms = 10_000, at most 600_000:
        "Time of one HTTP request, from looking up the name to the last byte of the answer.";
    http_response_kib = 8_192, at most 1_048_576:
        "Bodies of all HTTP answers that one call reads, as they come over the wire.";
    http_request_kib = 1_024, at most 1_048_576:
        "Bodies of all HTTP requests that one call sends.";
    http_header_kib = 16, at most 256:
        "Header fields of one HTTP request or answer, and the path with its query.";
    tools = 256, at most 10_000:
        "Tools that one plugin may offer.";
    resources = 1_000, at most 100_000:
        "Resources that one plugin may list.";
    resource_templates = 64, at most 1_000:
        "Resource templates that one plugin may list; each is compared with every URI that is not listed.";
    prompts = 256, at most 10_000:
        "Prompts that one plugin may offer.";
    prompt_arguments = 32, at most 1_000:
        "Arguments of one prompt.";
    uri_bytes = 2_048, at most 4_096:
        "Length of one URI or URI template.";
    description_kib = 4, at most 1_024:
        "Title and description of one tool, resource or prompt, or of one prompt argument.";
    schema_kib = 64, at most 4_096:
        "Text of one JSON Schema.";
    schema_depth = 32, at most 64:
        "Nesting of one JSON Schema.";
    patterns = 128, at most 10_000:
        "Regular expressions in all JSON Schemas of one plugin.";
    pattern_kib = 256, at most 16_384:
        "Memory of one compiled regular expression in a JSON Schema.";
    compile_ms = 120_000, at most 3_600_000:
        "Time to compile one .wasm file. What takes longer is skipped, and its compiler is killed.";
    compile_mib = 1_024, at most 65_536:
        "Memory of the process that compiles one .wasm file; what a compiler needs is up to the file.";
    code_mib = 64, at most 4_096:
        "Machine code of one .wasm file, about four times its size. The server keeps it in memory while the plugin is loaded.";
    wasm_mib = 32, at most 1_024:
        "Size of one .wasm file.";
}

/// Why a limit could not be set.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// No such limit.
    #[error("unknown limit")]
    Unknown,
    /// Zero would stop every call.
    #[error("must be at least 1")]
    Zero,
    /// The hard maximum.
    #[error("must be at most {0}")]
    TooLarge(u64),
}

impl Limits {
    /// Sets one limit by its name.
    ///
    /// # Errors
    /// When the name is unknown, or the value is zero or above the hard maximum.
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), LimitError> {
        let spec = Self::TABLE.iter().find(|spec| spec.name == name).ok_or(LimitError::Unknown)?;
        match value {
            0 => Err(LimitError::Zero),
            _ if value > spec.max => Err(LimitError::TooLarge(spec.max)),
            _ => self.field_mut(name).map(|slot| *slot = value).ok_or(LimitError::Unknown),
        }
    }

    /// The names of all limits.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        Self::TABLE.iter().map(|spec| spec.name).collect()
    }

    /// Those that let a plugin do more than `other` does, in the order of the table.
    pub fn looser_than<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'static LimitSpec> + 'a {
        Self::TABLE.iter().filter(move |spec| {
            let (own, others) = (self.get(spec.name), other.get(spec.name));
            // The one that keeps a plugin from running.
            if spec.name == "quarantine_s" { own < others } else { own > others }
        })
    }

    /// Wall time of one call.
    #[must_use]
    pub fn wall_time(&self) -> Duration {
        Duration::from_millis(self.wall_ms)
    }

    /// Processor time of one call.
    #[must_use]
    pub fn cpu_time(&self) -> Duration {
        Duration::from_millis(self.cpu_ms)
    }

    /// Time of one HTTP request.
    #[must_use]
    pub fn http_time(&self) -> Duration {
        Duration::from_millis(self.http_ms)
    }

    /// Time to compile.
    #[must_use]
    pub fn compile_time(&self) -> Duration {
        Duration::from_millis(self.compile_ms)
    }

    /// Wall time of instantiating and listing.
    #[must_use]
    pub fn startup_time(&self) -> Duration {
        Duration::from_millis(self.startup_ms)
    }
}

/// A limit in KiB as bytes. The table's maxima keep it far from overflow.
#[must_use]
pub const fn kib(value: u64) -> usize {
    (value << 10) as usize
}

/// A limit in MiB as bytes.
#[must_use]
pub const fn mib(value: u64) -> usize {
    (value << 20) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_within_its_maximum() {
        for spec in Limits::TABLE {
            assert!(spec.default >= 1 && spec.default <= spec.max, "{}", spec.name);
        }
    }

    #[test]
    fn a_limit_is_set_by_name_and_never_beyond_its_maximum() {
        let mut limits = Limits::default();
        assert_eq!(limits.set("wall_ms", 5), Ok(()));
        assert_eq!(limits.wall_time(), Duration::from_millis(5));
        assert_eq!(limits.set("wall_ms", 0), Err(LimitError::Zero));
        assert_eq!(limits.set("wall_ms", 600_001), Err(LimitError::TooLarge(600_000)));
        assert_eq!(limits.set("walls", 1), Err(LimitError::Unknown));
    }

    #[test]
    fn a_limit_is_laxer_when_it_lets_a_plugin_do_more() {
        let usual = Limits::default();
        let laxer = |limits: Limits| limits.looser_than(&usual).map(|spec| spec.name).collect::<Vec<_>>();
        assert_eq!(
            laxer(Limits { fuel: 1, quarantine_traps: 1, quarantine_s: 60, ..usual.clone() }),
            [""; 0]
        );
        let more = Limits { fuel: usual.fuel + 1, quarantine_traps: 6, quarantine_s: 29, ..usual.clone() };
        assert_eq!(laxer(more), ["fuel", "quarantine_traps", "quarantine_s"]);
    }
}
