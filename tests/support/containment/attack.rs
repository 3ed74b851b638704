//! One attack: its guest, its call, and the expected outcome.
//!
//! Attacks are plain constants, so that the corpus reads as a table.

use std::time::Duration;

use super::AttackGrant;
use crate::build::{guest, root};
use crate::generator::AdapterComponent;
use crate::hostile_files;

/// Where a hostile component comes from.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// A guest of `tests/guests/examples`.
    Guest(&'static str),
    /// A variant of such a guest.
    Variant(&'static str, u8),
    /// A guest in WAT, which no compiler would write: `tests/guests/wat`.
    Wat(&'static str),
    /// A generated file: [`hostile_files::made`].
    Made(&'static str),
    /// Two instances that pass each other values.
    Adapter(&'static AdapterComponent),
}

/// Any outcome: the attack only has to end in time, and to name its limit if it hits one.
pub const ENDED: &str = "ended";

/// What an attack does.
#[derive(Debug, Clone, Copy)]
pub enum AttackAction {
    /// A tool is called.
    Calls {
        tool: &'static str,
        /// JSON. `{file}`, `{port}` and `{variable}` stand for the canaries.
        arguments: &'static str,
        /// The outcome in the audit, or [`ENDED`].
        outcome: &'static str,
        /// The text of the result contains this.
        says: &'static str,
    },
    /// The file is in the plugin folder, and is rejected with a line that contains this.
    Rejected { says: &'static str },
    /// The file is in the plugin folder, and only these of its tools are published.
    Published { tools: &'static [&'static str], says: &'static [&'static str] },
}

/// An attack and its expected outcome.
#[derive(Debug, Clone, Copy)]
pub struct Attack {
    pub source: Source,
    pub action: AttackAction,
    /// Settings of the plugin.
    pub config: &'static str,
    /// The grant of the plugin.
    pub grant: AttackGrant,
    pub repeats: u32,
    /// Whether the client knows tasks.
    pub as_task: bool,
    /// The maximum time of one repeat.
    pub within: Duration,
}

impl Attack {
    const fn of(source: Source, action: AttackAction) -> Self {
        Self {
            source,
            action,
            config: "",
            grant: AttackGrant::Nothing,
            as_task: false,
            repeats: 100,
            within: Duration::from_secs(5),
        }
    }

    /// Calls a tool of a guest.
    pub const fn call(
        guest: &'static str,
        tool: &'static str,
        outcome: &'static str,
        says: &'static str,
    ) -> Self {
        Self::of(Source::Guest(guest), AttackAction::Calls { tool, arguments: "{}", outcome, says })
    }

    /// Calls the tool of two instances that pass each other values.
    pub const fn passing(
        passing: &'static AdapterComponent,
        outcome: &'static str,
        says: &'static str,
    ) -> Self {
        Self::of(Source::Adapter(passing), AttackAction::Calls { tool: "go", arguments: "{}", outcome, says })
    }

    /// Calls the one tool of a guest in WAT.
    pub const fn wat(guest: &'static str, outcome: &'static str, says: &'static str) -> Self {
        Self::of(Source::Wat(guest), AttackAction::Calls { tool: "go", arguments: "{}", outcome, says })
    }

    /// A file that is rejected when the server starts.
    pub const fn rejected(source: Source, says: &'static str) -> Self {
        Self { repeats: 20, ..Self::of(source, AttackAction::Rejected { says }) }
    }

    /// A file whose listing is validated when the server starts.
    pub const fn published(
        source: Source,
        tools: &'static [&'static str],
        says: &'static [&'static str],
    ) -> Self {
        let published = Self::of(source, AttackAction::Published { tools, says });
        Self { repeats: 3, within: Duration::from_secs(15), ..published }
    }

    /// With these arguments.
    pub const fn arguments(self, arguments: &'static str) -> Self {
        let action = match self.action {
            AttackAction::Calls { tool, outcome, says, .. } => {
                AttackAction::Calls { tool, arguments, outcome, says }
            }
            other => other,
        };
        Self { action, ..self }
    }

    /// With these settings of the plugin.
    pub const fn configured(self, config: &'static str) -> Self {
        Self { config, ..self }
    }

    /// With this grant.
    pub const fn granted(self, grant: AttackGrant) -> Self {
        Self { grant, ..self }
    }

    /// Called by a client that knows tasks, which waits for the end of the task.
    pub const fn as_task(self) -> Self {
        Self { as_task: true, ..self }
    }

    /// Repeated so many times, because one takes long.
    pub const fn times(self, repeats: u32) -> Self {
        Self { repeats, ..self }
    }
}

impl Source {
    /// The name of the file and of the plugin.
    pub fn plugin(&self) -> &'static str {
        match self {
            Self::Guest(name) | Self::Variant(name, _) | Self::Wat(name) | Self::Made(name) => name,
            Self::Adapter(passing) => passing.name,
        }
    }

    /// The component.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Guest(name) => std::fs::read(guest(name)).unwrap(),
            Self::Variant(name, variant) => marked(std::fs::read(guest(name)).unwrap(), *variant),
            Self::Wat(name) => assembled(name),
            Self::Made(name) => hostile_files::made(name),
            Self::Adapter(passing) => passing.assembled(),
        }
    }
}

/// A guest with another digit where `plugport_test_guests::variant` reads its variant.
fn marked(mut bytes: Vec<u8>, variant: u8) -> Vec<u8> {
    let mark = b"hostile-variant:";
    let at = bytes.windows(mark.len()).position(|window| window == mark).expect("the guest has variants");
    bytes[at + mark.len()] = b'0' + variant;
    bytes
}

/// A component around the core that `tests/guests/wat/NAME.wat` defines, as `tests/guests/wat/shell.wat` says.
fn assembled(name: &str) -> Vec<u8> {
    let guest = read_wat(name).replace(";; ONE TOOL", &read_wat("tool"));
    let guest = guest.replace("EIGHT MEBIBYTES", &"x".repeat(8 << 20));
    let text = read_wat("shell").replace(";; THE GUEST", &guest);
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error} in {name}"))
}

fn read_wat(name: &str) -> String {
    std::fs::read_to_string(root().join(format!("tests/guests/wat/{name}.wat"))).unwrap()
}
