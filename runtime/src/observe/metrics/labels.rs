//! Labels whose values are known in advance, and counters with one of them.
//!
//! A value is a variant of an enum, so a counter is an array and finding it is an index. Every value is exported from
//! the start, also as zero: Prometheus sees no increase in a series whose first value is 1.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use super::text::{FamilyWriter, Value, render};

/// The value of a label for everything without a value of its own.
pub(super) const OTHER: &str = "_OTHER";

/// A label and its values.
pub(super) trait Label: Copy + 'static {
    /// Its name.
    const KEY: &'static str;
    /// All values.
    const ALL: &'static [Self];

    fn as_str(self) -> &'static str;

    /// The place of a value in [`Self::ALL`].
    fn index(self) -> usize;
}

macro_rules! label {
    ($(#[$doc:meta])* $vis:vis $name:ident, $key:literal { $($(#[$of_value:meta])* $value:ident = $text:expr,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$of_value])* $value,)*
        }

        impl Label for $name {
            const KEY: &'static str = $key;
            const ALL: &'static [Self] = &[$(Self::$value),*];

            fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)*
                }
            }

            fn index(self) -> usize {
                self as usize
            }
        }
    };
}

label! {
    /// How a call that began has ended.
    pub CallEnd, "outcome" {
        /// With a result that is no error.
        Ok = "ok",
        /// With the plugin's own error, a result beyond a limit, or a fault of the server.
        Failed = "failed",
        /// The server terminated it at a limit, it trapped or exited, or its result was invalid.
        Terminated = "terminated",
        /// It was cancelled, or its plugin was replaced or removed.
        Cancelled = "cancelled",
    }
}

label! {
    /// Why something was rejected before anything was done for it. Where a key of the configuration decides that, its
    /// name is the text.
    pub Rejection, "reason" {
        /// No permit was free, and the queue for them was full or took too long.
        Busy = "busy",
        /// The plugin is quarantined.
        Quarantined = "quarantined",
        /// The drain of the plugin was over before the call had a permit.
        Replaced = "replaced",
        /// The tool is called too often.
        ToolRate = "tool_calls_per_second",
        /// Completions are requested too often.
        CompletionRate = "completions_per_second",
        /// The caller calls too often.
        CallerRate = "caller_calls_per_second",
        /// The buffers of clients are full.
        ClientBuffers = "client_buffers_mib",
        /// All sessions are in use.
        Sessions = "max_sessions",
        /// All connections are in use.
        Connections = "max_connections",
        /// The host or the origin of the request is not allowed.
        Origin = "allowed_origins",
        /// Anything else.
        Other = OTHER,
    }
}

impl Rejection {
    /// The reason for a limit that rejects calls.
    #[must_use]
    pub fn of_limit(limit: &str) -> Self {
        Self::ALL.iter().copied().find(|reason| reason.as_str() == limit).unwrap_or(Self::Other)
    }
}

label! {
    /// What came of the credentials of a request.
    pub AuthOutcome, "outcome" {
        /// They are valid.
        Ok = "ok",
        /// There are none, and none are needed.
        Anonymous = "anonymous",
        /// There are none.
        Missing = "missing",
        /// They have expired.
        Expired = "expired",
        /// They are not valid.
        Invalid = "invalid",
        /// Who knows whether they are valid cannot be reached.
        Unavailable = "unavailable",
    }
}

label! {
    /// What became of a change in the plugin folder.
    pub Reload, "outcome" {
        /// A plugin is served, in a new version or under other names.
        Published = "published",
        /// A file cannot be served.
        Rejected = "rejected",
        /// A file is gone, and its plugin is no longer served.
        Removed = "removed",
        /// A plugin is no longer served, since something was revoked.
        Withdrawn = "withdrawn",
    }
}

label! {
    /// The key of the grant that a plugin lacks.
    pub(super) GrantKey, "grant" {
        /// Directories.
        Dirs = "dirs",
        /// Hosts.
        Http = "http",
        /// The key-value store.
        Kv = "kv",
        /// Settings.
        Config = "config",
        /// Secrets.
        Secrets = "secrets",
        /// Variables of the environment.
        Env = "env",
        /// The client's model.
        Sampling = "sampling",
        /// The user at the client.
        Elicitation = "elicitation",
        /// The client's roots.
        Roots = "roots",
        /// Any other.
        Other = OTHER,
    }
}

impl GrantKey {
    pub(super) fn of(key: &str) -> Self {
        Self::ALL.iter().copied().find(|grant| grant.as_str() == key).unwrap_or(Self::Other)
    }
}

label! {
    /// How a request ended: well, or with one of the errors that this server or MCP names. A guest may choose the code
    /// of its own error, and all such codes are one value.
    pub OperationEnd, "error_type" {
        /// With a result that is no error; the label is missing then.
        Ok = "",
        /// With a tool result that says `isError`.
        ToolError = "tool_error",
        /// The client cancelled the request, or its connection ended.
        Cancelled = "cancelled",
        /// The message is no JSON.
        Parse = "-32700",
        /// The message is no request.
        InvalidRequest = "-32600",
        /// The method does not exist.
        UnknownMethod = "-32601",
        /// The parameters are wrong, or name something that does not exist.
        InvalidParams = "-32602",
        /// The server or the plugin failed.
        Internal = "-32603",
        /// The resource does not exist, in older revisions.
        UnknownResource = "-32002",
        /// A header differs from the body.
        HeaderMismatch = "-32020",
        /// The client lacks a capability.
        MissingCapability = "-32021",
        /// The revision is not supported.
        UnsupportedVersion = "-32022",
        /// An error with a code that the guest chose.
        Other = OTHER,
    }
}

impl OperationEnd {
    /// The end of a request with this JSON-RPC error.
    #[must_use]
    pub fn of_code(code: i64) -> Self {
        let codes = [
            (-32700, Self::Parse),
            (-32600, Self::InvalidRequest),
            (-32601, Self::UnknownMethod),
            (-32602, Self::InvalidParams),
            (-32603, Self::Internal),
            (-32002, Self::UnknownResource),
            (-32020, Self::HeaderMismatch),
            (-32021, Self::MissingCapability),
            (-32022, Self::UnsupportedVersion),
        ];
        codes.iter().find(|(known, _)| *known == code).map_or(Self::Other, |(_, end)| *end)
    }

    /// Whether the text is the code of a JSON-RPC error.
    pub(super) fn is_code(self) -> bool {
        self.as_str().starts_with('-')
    }
}

/// A counter for each value of a label.
#[derive(Debug)]
pub(super) struct LabeledCounter<L> {
    counts: Box<[AtomicU64]>,
    label: PhantomData<L>,
}

impl<L: Label> LabeledCounter<L> {
    pub(super) fn new() -> Self {
        Self { counts: L::ALL.iter().map(|_| AtomicU64::new(0)).collect(), label: PhantomData }
    }

    pub(super) fn add(&self, value: L) {
        if let Some(count) = self.counts.get(value.index()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes a sample for each value, with these labels besides.
    pub(super) fn write(&self, to: &mut FamilyWriter<'_>, labels: &str) {
        for (value, count) in L::ALL.iter().zip(self.counts.iter()) {
            let own = render(&[(L::KEY, value.as_str())]);
            let separator = if labels.is_empty() { "" } else { "," };
            to.sample(&[labels, separator, &own], Value::Number(count.load(Ordering::Relaxed)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::families;
    use super::*;

    #[test]
    fn every_value_is_there_from_the_start() {
        let counter = LabeledCounter::<CallEnd>::new();
        counter.add(CallEnd::Cancelled);
        let mut text = String::new();
        counter.write(&mut FamilyWriter::new(&mut text, &families::CALLS), "plugin=\"p\"");
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            samples,
            [
                "plugport_calls_total{plugin=\"p\",outcome=\"ok\"} 0",
                "plugport_calls_total{plugin=\"p\",outcome=\"failed\"} 0",
                "plugport_calls_total{plugin=\"p\",outcome=\"terminated\"} 0",
                "plugport_calls_total{plugin=\"p\",outcome=\"cancelled\"} 1",
            ]
        );
    }

    #[test]
    fn what_has_no_value_of_its_own_is_other() {
        assert_eq!(Rejection::of_limit("caller_calls_per_second"), Rejection::CallerRate);
        assert_eq!(Rejection::of_limit("result_kib"), Rejection::Other);
        assert_eq!((GrantKey::of("http"), GrantKey::of("plugport")), (GrantKey::Http, GrantKey::Other));
        for end in OperationEnd::ALL.iter().filter(|end| end.is_code()) {
            assert_eq!(OperationEnd::of_code(end.as_str().parse().unwrap()), *end);
        }
        assert_eq!(OperationEnd::of_code(-5), OperationEnd::Other);
        assert_eq!(OperationEnd::of_code(i64::MIN), OperationEnd::Other);
    }
}
