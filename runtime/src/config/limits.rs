//! Every limit of a plugin that is a key: one table, so that a reader sees all of them at once and a limit cannot exist
//! without a default that is safe for hostile code, a hard maximum and a reason. Limits without a key are in
//! `fixed_limits`.
//!
//! The unit is part of the name. `[limits]` in `plugport.toml` sets them for every plugin, `[plugins.NAME] limits` for
//! one.

use std::time::Duration;

use super::fixed_limits::QUEUED_PER_CALL;
use super::toml_reader::{TomlEntry, TomlReader};

/// What the table says of one limit.
#[derive(Debug, Clone, Copy)]
pub struct LimitSpec {
    /// The key in the configuration; its last part is the unit.
    pub name: &'static str,
    /// The value without a configuration.
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
        "Instructions per call, and as much again for what the host does for the guest; stops an endless loop, the same on every machine.";
    cpu_ms = 1_000, at most 600_000:
        "Processor time per call, with that of other threads for it and of validating its result, and as much again for validating its arguments. Fuel cannot bound time: a cache miss costs as little fuel as an addition.";
    wall_ms = 30_000, at most 600_000:
        "Time from the start of a call to its end, sleeping included.";
    startup_ms = 2_000, at most 60_000:
        "Time for a plugin to instantiate and to list its items.";
    memory_mib = 64, at most 1_024:
        "Linear memory of one instance, all its memories together. The engine converts a text between two instances of one component in one go, so other limits act up to a millisecond per MiB later.";
    open_files = 32, at most 1_000:
        "Files and directories that one call may have open at once, with four times as many streams on them.";
    transfer_mib = 8, at most 128:
        "Bytes lifted out of the guest by one host call or result: a guest can alias one buffer many times, so typed results amplify.";
    result_kib = 4_096, at most 65_536:
        "Size of one result: of a tool, a resource, a prompt or a completion.";
    log_kib = 1_024, at most 65_536:
        "Log text of one call: log messages, stdout and stderr together. More is counted and dropped. All calls of a plugin together may write as much again in four seconds.";
    concurrent_calls = 16, at most 900:
        "Calls of one plugin that run at the same time. Four times as many wait; more are rejected.";
    tool_calls_per_second = 2_000, at most 1_000_000_000:
        "Calls of one tool in a second; as many may come at once.";
    quarantine_failures = 5, at most 1_000_000_000:
        "Consecutive calls that trapped or hit a limit, within a minute of each other, after which the plugin is quarantined.";
    quarantine_s = 30, at most 86_400:
        "Length of its first quarantine; each further one is twice as long, up to 64 times.";
    sampling_requests = 8, at most 1_000:
        "Sampling requests that one call may send.";
    sampling_tokens = 50_000, at most 100_000_000:
        "Tokens of all sampling requests of one call: their `maxTokens`, and their own text at 4 bytes a token.";
    client_requests = 32, at most 1_000:
        "Client requests of one call: sampling, elicitation and roots together.";
    suspended_calls = 32, at most 10_000:
        "Suspended calls of one plugin; beyond it the oldest is cancelled.";
    tasks = 64, at most 10_000:
        "Unfinished tasks of one plugin; beyond it calls stay plain calls.";
    task_after_ms = 2_000, at most 600_000:
        "How long a call may take before it becomes a task, if it may.";
    task_wall_ms = 600_000, at most 86_400_000:
        "Time from the start of a call to its end once it is a task, sleeping included; or `wall_ms`, if that is longer.";
    http_requests = 16, at most 1_000:
        "HTTP requests of one call; each redirect that it follows is one more.";
    http_parallel = 4, at most 64:
        "HTTP requests of one call that are under way at the same time.";
    http_ms = 10_000, at most 600_000:
        "Time of one HTTP request, from the name's lookup to the last byte of the response.";
    http_response_kib = 8_192, at most 1_048_576:
        "Bodies of all HTTP responses that one call reads, as they come over the wire.";
    http_request_kib = 1_024, at most 1_048_576:
        "Bodies of all HTTP requests that one call sends.";
    tools = 256, at most 10_000:
        "Tools that one plugin may list.";
    resources = 1_000, at most 100_000:
        "Resources that one plugin may list.";
    schema_kib = 64, at most 4_096:
        "Text of one JSON Schema.";
    compile_ms = 120_000, at most 3_600_000:
        "Time to compile one .wasm file. Then its compiler is killed, and the file is rejected.";
    compile_mib = 1_024, at most 65_536:
        "Memory of the process that compiles one .wasm file: the file decides what its compiler needs.";
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
            _ => self.field_mut(name).map(|field| *field = value).ok_or(LimitError::Unknown),
        }
    }

    /// Reads a table of limits. Limits that are not in it keep their values.
    pub(super) fn read(&mut self, entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) {
        let Some(mut table) = entry.table(reader) else { return };
        for LimitSpec { name, max, .. } in Self::TABLE {
            let Some(entry) = table.take(name) else { continue };
            let Some(value) = entry.number(1, *max, reader) else { continue };
            if let Err(error) = self.set(name, value) {
                reader.report(entry.span, &entry.key, error.to_string());
            }
        }
        table.finish(reader, &Self::names());
    }

    /// The names of all limits.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        Self::TABLE.iter().map(|spec| spec.name).collect()
    }

    /// The limits that let a plugin do more than those of `other`, in the order of the table.
    pub fn looser_than<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'static LimitSpec> + 'a {
        Self::TABLE.iter().filter(move |spec| {
            let (own, others) = (self.get(spec.name), other.get(spec.name));
            // A shorter quarantine lets a plugin do more.
            if spec.name == "quarantine_s" { own < others } else { own > others }
        })
    }

    /// Most calls of the plugin that wait for a permit.
    #[must_use]
    pub const fn queued_calls(&self) -> u64 {
        self.concurrent_calls.saturating_mul(QUEUED_PER_CALL)
    }

    /// Wall time of one call.
    #[must_use]
    pub fn wall_time(&self) -> Duration {
        Duration::from_millis(self.wall_ms)
    }

    /// How long a call may take before it becomes a task.
    #[must_use]
    pub fn task_grace(&self) -> Duration {
        Duration::from_millis(self.task_after_ms)
    }

    /// Wall time of a task.
    #[must_use]
    pub fn task_time(&self) -> Duration {
        Duration::from_millis(self.task_wall_ms)
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
            laxer(Limits { fuel: 1, quarantine_failures: 1, quarantine_s: 60, ..usual.clone() }),
            [""; 0]
        );
        let more = Limits { fuel: usual.fuel + 1, quarantine_failures: 6, quarantine_s: 29, ..usual.clone() };
        assert_eq!(laxer(more), ["fuel", "quarantine_failures", "quarantine_s"]);
    }
}
