//! The table of all metrics: name, kind and what each says. `docs/telemetry.md` lists them for operators, and a test
//! compares the two.

/// How the values of a metric develop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyKind {
    /// Only grows, until the server or what it counts ends.
    Counter,
    /// What is true at the moment.
    Gauge,
    /// How many values are at most as large as each bound, and their sum.
    Histogram,
}

impl FamilyKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A metric with all its series.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name, with the unit at the end.
    pub name: &'static str,
    /// How its values develop.
    pub kind: FamilyKind,
    /// What it says, on one line without backslashes.
    pub help: &'static str,
}

macro_rules! families {
    ($($family:ident = $name:literal, $kind:ident: $help:literal;)*) => {
        $(
            #[doc = $help]
            pub static $family: Family = Family { name: $name, kind: FamilyKind::$kind, help: $help };
        )*

        /// The whole table.
        #[cfg(test)]
        static ALL: &[&Family] = &[$(&$family),*];
    };
}

families! {
    OPERATION_DURATION = "mcp_server_operation_duration_seconds", Histogram:
        "MCP request duration as observed on the receiver, from when the request was read until its result was made.";
    CALLS = "plugport_calls_total", Counter:
        "Calls of a plugin, by how they ended.";
    CALL_FUEL = "plugport_call_fuel", Histogram:
        "Fuel that a call used, host functions included.";
    CALL_CPU = "plugport_call_cpu_seconds", Histogram:
        "Processor time that a call used.";
    CALL_MEMORY = "plugport_call_memory_bytes", Histogram:
        "Linear memory of the instance at the end of a call, which never shrinks.";
    CALLS_RUNNING = "plugport_calls_running", Gauge:
        "Calls that have begun and not ended, suspended ones included.";
    CALLS_QUEUED = "plugport_calls_queued", Gauge:
        "Calls that wait for a permit.";
    CALLS_SUSPENDED = "plugport_calls_suspended", Gauge:
        "Calls that wait for their client.";
    DENIALS = "plugport_denials_total", Counter:
        "Uses of a capability that is not granted, each once per call.";
    LIMITS = "plugport_limits_total", Counter:
        "Limits that ended or rejected a call, or stopped a request of it.";
    REJECTED = "plugport_rejected_total", Counter:
        "Calls, sessions, connections and requests that were rejected before anything was done for them.";
    PLUGINS = "plugport_plugins", Gauge:
        "Plugins, draining versions and rejected files, by state.";
    PROBLEMS = "plugport_problems", Gauge:
        "Whether the plugin folder, the configuration or the lockfile cannot be read now.";
    RELOADS = "plugport_reloads_total", Counter:
        "Changes of the plugin folder, by what became of them.";
    SESSIONS = "plugport_sessions", Gauge:
        "Open sessions, and streams of HTTP+SSE.";
    AUDIT_LOST = "plugport_audit_lost_total", Counter:
        "Lines of the audit that were lost because its file could not be written.";
    AUTHENTICATIONS = "plugport_authentications_total", Counter:
        "Requests, by the outcome of their authentication.";
    BUILD_INFO = "plugport_build_info", Gauge:
        "Always 1; the label is the version of the server.";
    PROCESS_CPU = "process_cpu_seconds_total", Counter:
        "Processor time of the server.";
    PROCESS_MEMORY = "process_resident_memory_bytes", Gauge:
        "Resident memory of the server.";
    PROCESS_OPEN_FDS = "process_open_fds", Gauge:
        "Open file descriptors.";
    PROCESS_MAX_FDS = "process_max_fds", Gauge:
        "The limit on open file descriptors.";
    PROCESS_START_TIME = "process_start_time_seconds", Gauge:
        "When the server started, in seconds since 1970.";
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCS: &str = include_str!("../../../../docs/telemetry.md");

    #[test]
    fn the_docs_list_every_metric_and_no_other() {
        let rows = DOCS.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let is_metric = |name: &&str| {
            ["mcp_server_", "plugport_", "process_"].iter().any(|start| name.starts_with(start))
        };
        let mut listed: Vec<&str> = rows.filter(is_metric).collect();
        let mut known: Vec<&str> = ALL.iter().map(|family| family.name).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    #[test]
    fn names_and_texts_have_the_form_that_prometheus_wants() {
        for Family { name, kind, help } in ALL {
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert_eq!(name.ends_with("_total"), *kind == FamilyKind::Counter, "{name}");
            assert!(help.ends_with('.') && !help.contains(['\\', '\n']), "{name}: {help}");
        }
    }
}
