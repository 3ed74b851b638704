//! What can go wrong in a call, and the one sentence about it that the client gets.
//!
//! A guest that gets no more memory traps in whatever it does next, so the trap alone misleads: it is first checked
//! whether a limit was hit. Backtraces and host paths stay in the log: they do not help clients, and tell an attacker
//! about the machine.

use wasmtime::{PoolConcurrencyLimitError, Trap};
use wasmtime_wasi::I32Exit;

use super::GuestError;
use super::function_tools::WriteError;
use crate::capability::{InstanceCtx, LimitTrap, StaleCallHandle};
use crate::config::{Limits, fixed_limits};
use crate::observe::truncate;
use crate::sandbox::{ChargeError, GuestMemoryExhausted, StoreLimitHit};

/// Why a call has no result. Shown as what happened to a tool; [`CallError::describe`] says it of something else.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The guest returned an error of its own.
    Guest(GuestError),
    /// A limit was hit.
    Limit(LimitHit),
    /// The guest trapped.
    Trapped(&'static str),
    /// The guest called `exit`.
    Exited(i32),
    /// The result is not what the interface promises.
    InvalidResult(String),
    /// All permits are in use, and so is the queue for them.
    Busy {
        /// The limit on running calls.
        running: u64,
        /// The limit on waiting calls.
        queued: u64,
    },
    /// The plugin is quarantined.
    Quarantined {
        /// For how much longer.
        seconds: u64,
    },
    /// The server has no free instance, or not enough memory for one or for what it requests.
    Full,
    /// The plugin was replaced or removed, and its drain is over.
    Replaced,
    /// A fault of the server or of the machine.
    Host(String),
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.describe("tool"))
    }
}

impl CallError {
    /// What happened, in one sentence about the `what` that was called.
    #[must_use]
    pub fn describe(&self, what: &str) -> String {
        match self {
            Self::Guest(_) => "the plugin returned an error".to_owned(),
            Self::Limit(limit) => limit.describe(what),
            Self::Trapped(how) => {
                format!(
                    "the {what} trapped: {how}; it can be called again, and the server's log has the details"
                )
            }
            Self::Exited(code) => {
                format!("the {what} ended itself with exit code {code} instead of answering")
            }
            Self::InvalidResult(fault) => format!("the {what} returned an invalid result: {fault}"),
            Self::Busy { running, queued } => format!(
                "the plugin is busy: {running} calls run and {queued} wait (limit `concurrent_calls`); try again \
                 later"
            ),
            Self::Quarantined { seconds } => format!(
                "the plugin is quarantined because its calls keep failing (limits `quarantine_failures`, \
                 `quarantine_s`); try again in {seconds} s"
            ),
            // Either others use the memory, or the call requests more than there ever is; the text covers both.
            Self::Full => format!(
                "the server has no more memory for the {what} (setting [server] `guest_memory_mib`), or no free instance; \
                 try again later, and ask for less if that does not help"
            ),
            Self::Replaced => format!(
                "the plugin was replaced or removed while the {what} ran, and its time to drain is over (setting \
                 [server] `drain_s`); list {} again",
                match what {
                    "tool" | "resource" | "prompt" => format!("the {what}s"),
                    _ => "what there is".to_owned(),
                }
            ),
            Self::Host(_) => format!("the server could not run the {what}; its log has the details"),
        }
    }
}

/// A limit that ended or rejected a call, by its name in the configuration or in [`fixed_limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitHit {
    /// For example `wall_ms`.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
}

/// Whether `limit` rejects a call or its result, instead of terminating a guest.
pub(super) fn only_rejects(limit: &str) -> bool {
    const REJECTING: [&str; 5] = [
        "result_kib",
        "content_items",
        "tool_calls_per_second",
        "completions_per_second",
        "caller_calls_per_second",
    ];
    REJECTING.contains(&limit)
}

impl LimitHit {
    fn describe(self, what: &str) -> String {
        let Self { name, value } = self;
        let ended = match name {
            "fuel" => format!("the {what} was stopped: it used up its {value} units of fuel"),
            "cpu_ms" => format!("the {what} was stopped: it computed for longer than {value} ms"),
            "wall_ms" | "task_wall_ms" => format!("the {what} was stopped: it took longer than {value} ms"),
            "startup_ms" => format!("the plugin was stopped: it took longer than {value} ms to start"),
            "memory_mib" => format!("the {what} was stopped: it asked for more than {value} MiB of memory"),
            "transfer_mib" => format!(
                "the {what} was stopped: what it handed over at once, or has the server keep, takes more than {value} \
                 MiB in the server"
            ),
            "result_kib" => format!("the {what}'s result is larger than {value} KiB"),
            "content_items" => format!("the {what}'s result has more than {value} content items"),
            "core_instances" => {
                format!("the {what} was stopped: it consists of more than {value} core instances")
            }
            "handles" => format!("the {what} was stopped: it holds more than {value} handles"),
            "random_kib" => {
                format!("the {what} was stopped: it asked for more than {value} KiB of randomness at once")
            }
            "table_elements" => {
                format!("the {what} was stopped: it asked for a table of more than {value} entries")
            }
            "tool_calls_per_second" => {
                format!("the {what} is called too often: at most {value} times in a second")
            }
            "completions_per_second" => {
                format!("completions are requested too often: at most {value} times in a second")
            }
            "caller_calls_per_second" => {
                format!("you call too often: at most {value} times in a second, all plugins together")
            }
            "http_header_kib" => {
                format!("the {what} was stopped: it wrote HTTP header fields of more than {value} KiB")
            }
            _ => format!("the {what} was stopped: it went beyond {value}"),
        };
        match name {
            "caller_calls_per_second" => format!("{ended} (limit [server] `{name}`)"),
            _ if fixed_limits::of_call(name).is_some() => ended,
            _ => format!("{ended} (limit `{name}`)"),
        }
    }
}

impl GuestError {
    /// The error in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::NotFound(text) => format!("not found: {text}"),
            Self::InvalidParams(text) => format!("invalid arguments: {text}"),
            Self::Internal(text) => text.clone(),
            Self::MissingCapability(name) => format!("the client lacks the capability `{name}`"),
            Self::Denied(text) => format!("not allowed: {text}"),
            Self::OverBudget(text) => format!("over budget: {text}"),
            Self::Rejected(text) => format!("rejected: {text}"),
            Self::TimedOut => "the client did not answer in time".to_owned(),
            Self::Cancelled => "the call was cancelled".to_owned(),
            Self::Rpc(error) => error.message.clone(),
        }
    }
}

/// Why a call was interrupted from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interruption {
    Wall,
    Cpu,
    Fuel,
    Panicked,
    Replaced,
}

impl CallError {
    /// A limit was hit: a key of `limits`, or a constant of [`fixed_limits`].
    pub(crate) fn limit(limits: &Limits, name: &'static str) -> Self {
        let value = fixed_limits::of_call(name).unwrap_or_else(|| limits.get(name));
        Self::Limit(LimitHit { name, value })
    }

    /// Whether the guest was terminated or terminated itself. This is what the quarantine counts.
    pub(super) fn is_termination(&self) -> bool {
        match self {
            Self::Trapped(_) | Self::Exited(_) | Self::InvalidResult(_) => true,
            Self::Limit(limit) => !only_rejects(limit.name),
            Self::Guest(_)
            | Self::Busy { .. }
            | Self::Quarantined { .. }
            | Self::Full
            | Self::Replaced
            | Self::Host(_) => false,
        }
    }

    /// A call that was interrupted.
    pub(super) fn interrupted(why: Interruption, limits: &Limits, wall: &'static str) -> Self {
        match why {
            Interruption::Wall => Self::limit(limits, wall),
            Interruption::Cpu => Self::limit(limits, "cpu_ms"),
            Interruption::Fuel => Self::limit(limits, "fuel"),
            Interruption::Panicked => Self::Trapped("the server failed in a function that it called"),
            Interruption::Replaced => Self::Replaced,
        }
    }

    /// The error of a call, from wasmtime's error and the limits that the call hit.
    pub(super) fn classify(error: &wasmtime::Error, state: &InstanceCtx, limits: &Limits) -> Self {
        if let Some(exit) = error.downcast_ref::<I32Exit>() {
            return Self::Exited(exit.0);
        }
        match error.downcast_ref::<ChargeError>() {
            Some(ChargeError::Fuel) => return Self::limit(limits, "fuel"),
            Some(ChargeError::Memory) => return Self::Full,
            None => {}
        }
        if let Some(LimitTrap(limit)) = error.downcast_ref::<LimitTrap>() {
            return Self::limit(limits, limit);
        }
        if error.downcast_ref::<PoolConcurrencyLimitError>().is_some() {
            return Self::Full;
        }
        if error.downcast_ref::<StaleCallHandle>().is_some() {
            return Self::InvalidResult("it used the handle of a request that it has answered".to_owned());
        }
        if error.downcast_ref::<WriteError>() == Some(&WriteError::TooLong) {
            return Self::limit(limits, "result_kib");
        }
        let trap = error.downcast_ref::<Trap>().copied();
        // These traps have no other cause; any other trap may be the consequence of a limit that was hit.
        if let Some(trap @ (Trap::OutOfFuel | Trap::StackOverflow)) = trap {
            return Self::trapped(trap, limits);
        }
        match (state.limiter.limit_hit(), trap) {
            (Some(StoreLimitHit::Guests), _) => Self::Full,
            (Some(StoreLimitHit::Memory), _) => Self::limit(limits, "memory_mib"),
            (Some(StoreLimitHit::Table), _) => Self::limit(limits, "table_elements"),
            (None, Some(trap)) => Self::trapped(trap, limits),
            (None, None) => Self::described(&causes(error), limits),
        }
    }

    fn trapped(trap: Trap, limits: &Limits) -> Self {
        match trap {
            Trap::OutOfFuel => Self::limit(limits, "fuel"),
            Trap::StackOverflow => {
                Self::Trapped("its call stack is exhausted, probably by endless recursion")
            }
            Trap::UnreachableCodeReached => Self::Trapped("it panicked or aborted"),
            Trap::MemoryOutOfBounds => {
                Self::Trapped("it reached outside its memory, often by endless recursion")
            }
            Trap::IntegerDivisionByZero => Self::Trapped("it divided by zero"),
            Trap::IntegerOverflow | Trap::BadConversionToInteger => {
                Self::Trapped("its arithmetic overflowed")
            }
            Trap::StringOutOfBounds | Trap::ListOutOfBounds | Trap::InvalidChar => {
                Self::InvalidResult("its result points outside its memory".to_owned())
            }
            _ => Self::Trapped("it executed an invalid operation"),
        }
    }

    /// The error of a call whose guest could not start.
    pub(super) fn not_started(error: &wasmtime::Error) -> Self {
        if error.downcast_ref::<PoolConcurrencyLimitError>().is_some()
            || error.downcast_ref::<GuestMemoryExhausted>().is_some()
        {
            return Self::Full;
        }
        Self::Host(causes(error))
    }

    /// Errors for which wasmtime has a text only, and no type.
    fn described(text: &str, limits: &Limits) -> Self {
        let has = |words: &[&str]| words.iter().any(|words| text.contains(words));
        if has(&["fuel allocated for hostcalls"]) {
            return Self::limit(limits, "transfer_mib");
        }
        if has(&["requested len"]) && has(&["exceeds limit"]) {
            return Self::limit(limits, "random_kib");
        }
        if has(&["resource table has no free keys", "too many component handles", "handle limit exceeded"]) {
            return Self::limit(limits, "handles");
        }
        if has(&["instance count too high"]) {
            return Self::limit(limits, "core_instances");
        }
        if has(&["memory count too high", "table count too high"]) {
            return Self::InvalidResult("it has more memories or tables than a plugin may have".to_owned());
        }
        if has(&["size of fields exceeds limit", "too many fields in"]) {
            return Self::limit(limits, "http_header_kib");
        }
        if has(&["write exceeded budget", "Buffer too large", "cannot write more zeroes"]) {
            return Self::InvalidResult("it wrote to a stream without asking how much that takes".to_owned());
        }
        if has(&["empty poll list"]) {
            return Self::Trapped("it waited for nothing at all");
        }
        // Before the causes of this error, which may name handles.
        if has(&["failed to convert function to given type"]) {
            return Self::InvalidResult(
                "it exports a function of another type than its interface says".to_owned(),
            );
        }
        if has(MISPLACED) {
            return Self::InvalidResult(
                "its result is not valid text or points outside its memory".to_owned(),
            );
        }
        if has(MISSHAPEN) {
            return Self::InvalidResult("its result has a form that its interface does not have".to_owned());
        }
        if has(MISHANDLED) {
            return Self::InvalidResult(
                "it used a handle that it does not have, or not as it may".to_owned(),
            );
        }
        // The guest ran, so the error comes from how it called a host function.
        Self::Trapped("it called a function of the server in an invalid way")
    }
}

/// Longest text of an error that is read.
const WORDS: usize = 2 << 10;

/// The texts of an error and its causes, without the backtrace, which has names that the guest chose.
fn causes(error: &wasmtime::Error) -> String {
    let causes = error.chain().map(|cause| truncate(WORDS, format_args!("{cause}")));
    let causes: Vec<String> = causes.filter(|cause| !cause.starts_with(BACKTRACE)).collect();
    causes.join(": ")
}

/// How wasmtime begins a backtrace.
const BACKTRACE: &str = "error while executing at wasm backtrace";

/// Parts of wasmtime's errors for texts and lists that are not valid or outside the guest's memory.
const MISPLACED: &[&str] = &[
    "utf-8",
    "out-of-bounds",
    "out of bounds",
    "not aligned",
    "byte length",
    "size overflow",
    "beyond end of memory",
];

/// The same for values that their types do not have.
const MISSHAPEN: &[&str] = &["discriminant", "converting integer to char"];

/// The same for handles that the guest does not own, has given away, has lent out, or that are of another type.
const MISHANDLED: &[&str] = &[
    "unknown handle index",
    "is not a resource",
    "is not an own resource",
    "handle index",
    "resource type mismatch",
    "mismatched resource types",
    "owned resource while borrowed",
    "borrow handles still remain",
    "cannot lend resource",
    "resource has children",
    "already consumed",
    "different type",
];
