//! Plugins that cannot change behind someone's back: what was approved, and what becomes of everything else.
//!
//! A plugin is judged twice. Before it is run, by its file and its grants, since an unapproved program has no business with
//! what its namesake may reach. And whenever it has been listed, item by item, since a program can say something else each
//! time: so an entry remembers by what it was judged and is judged by it again. Nothing here reads or runs anything but the
//! lock, so that every case can be tried.

mod advice;
mod approved;
mod compare;
mod descriptor;
mod file;
mod layout;
mod lock;

use std::path::Path;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

pub use approved::{Approved, Descriptors};
pub use compare::{Difference, How, Subject, compare};
pub use descriptor::Descriptor;
pub use lock::{Lock, LockError};

use super::entry::{Entry, Refused};
use super::list::Item;
use crate::config::{Config, Grants, Pin};
use crate::observe::Escaped;
use approved::{sorted, with_algorithm};
use descriptor::Described;

/// Warnings of one plugin that are told one by one.
const MOST_WARNINGS: usize = 5;

/// By what plugins are judged. Clones share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pins {
    mode: Pin,
    lock: Arc<Lock>,
    /// Where the lock is: paths below it are told as seen from there.
    folder: Arc<Path>,
    /// The options of `plugport approve` that lead to the plugins that are judged.
    advice: Arc<str>,
}

impl Pins {
    /// By `lock`, which lies at `file`. Whoever has to approve is told of the usual places.
    #[must_use]
    pub fn new(mode: Pin, lock: Lock, file: &Path) -> Self {
        let folder = file.parent().unwrap_or(Path::new(""));
        Self { mode, lock: Arc::new(lock), folder: folder.into(), advice: Arc::default() }
    }

    /// By the lock of this configuration, unless it does not matter.
    ///
    /// # Errors
    /// When it cannot be read or is not as it was written.
    pub fn read(mode: Pin, config: &Config) -> Result<Self, LockError> {
        let lock = if mode == Pin::Off { Lock::default() } else { Lock::read(&config.lock)? };
        Ok(Self { advice: advice::options(config).into(), ..Self::new(mode, lock, &config.lock) })
    }

    /// By nothing: everything passes.
    #[must_use]
    pub fn off() -> Self {
        Self::new(Pin::Off, Lock::default(), Path::new(""))
    }

    /// How strict they are.
    #[must_use]
    pub fn mode(&self) -> Pin {
        self.mode
    }

    /// Whether a plugin is judged by the same as by `other`, so that it need not be looked at again.
    #[must_use]
    pub fn agree(&self, other: &Self, plugin: &str) -> bool {
        self.mode == other.mode && self.lock.get(plugin) == other.lock.get(plugin)
    }

    /// Whether anything was approved under this name.
    #[must_use]
    pub fn knows(&self, plugin: &str) -> bool {
        self.lock.get(plugin).is_some()
    }

    /// Judges a plugin before it is run, by the digest of its file in hex and by what it may do, which may be less than was
    /// approved. A warning, if it may run and should not pass unnoticed.
    ///
    /// # Errors
    /// When it may not run, with the reason.
    pub fn before(&self, plugin: &str, digest: &str, grants: &Grants) -> Result<Option<String>, String> {
        if self.mode == Pin::Off {
            return Ok(None);
        }
        let is_within = |approved: &[String]| {
            grants.in_words_from(&self.folder).iter().all(|granted| approved.contains(granted))
        };
        let unlike = match self.lock.get(plugin) {
            None => Some("has not been approved"),
            Some(approved) if approved.digest != with_algorithm(digest) => {
                Some("is not the file that was approved")
            }
            Some(approved) if !is_within(&approved.grants) => {
                Some("is granted other things than were approved")
            }
            Some(_) => None,
        };
        let remedy = || advice::remedy(plugin, &self.advice);
        match unlike.map(|unlike| format!("{unlike}; {} to see it and accept it", remedy())) {
            Some(why) if self.mode == Pin::Strict => Err(why),
            warning => Ok(warning),
        }
    }

    /// Judges what a plugin imports and says of itself, and has the entry remember by what. An item that may not be shown
    /// is moved to those that are refused; the warnings tell of items that are shown all the same.
    #[must_use]
    pub fn after(&self, mut entry: Entry) -> (Entry, Vec<String>) {
        entry.pins = self.clone();
        if self.mode == Pin::Off {
            return (entry, Vec::new());
        }
        let plugin = Arc::clone(&entry.plugin);
        let (approved, remedy) = (self.lock.get(plugin.name()), advice::remedy(plugin.name(), &self.advice));
        let mut gate = Gate::new(&remedy, self.mode, approved, &entry.surface.imports);
        entry.tools.retain(|item| gate.admits(&**item));
        entry.resources.retain(|item| gate.admits(&**item));
        entry.templates.retain(|item| gate.admits(&**item));
        entry.prompts.retain(|item| gate.admits(&**item));
        let (held, warnings) = gate.finish();
        entry.refused.extend(held);
        entry.unapproved.clone_from(&warnings);
        (entry, warnings)
    }
}

/// Lets the items of one plugin pass, or does not.
struct Gate<'a> {
    /// What to do to let them pass.
    remedy: &'a str,
    strict: bool,
    /// Nothing, when the plugin as a whole is not what was approved.
    approved: Option<&'a Approved>,
    held: Vec<Refused>,
    warnings: Vec<String>,
    /// Warnings that were one too many.
    more: usize,
}

impl<'a> Gate<'a> {
    fn new(remedy: &'a str, mode: Pin, approved: Option<&'a Approved>, imports: &[String]) -> Self {
        let strict = mode == Pin::Strict;
        let mut gate = Self { remedy, strict, approved, held: Vec::new(), warnings: Vec::new(), more: 0 };
        // One that is not in the lock was told of before it was run.
        if let Some(approved) = approved.filter(|approved| approved.imports != sorted(imports)) {
            let new = imports.iter().find(|import| !approved.imports.contains(import));
            let new = new.map(|import| format!(", such as {}", Escaped(import))).unwrap_or_default();
            gate.warn(format!("imports other interfaces than were approved{new}; {remedy}"));
            gate.approved = gate.approved.filter(|_| !strict);
        }
        gate
    }

    fn warn(&mut self, warning: String) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(warning);
        } else {
            self.more += 1;
        }
    }

    /// Whether an item may be shown.
    fn admits<T: Described>(&mut self, item: &T) -> bool {
        let known = self.approved.and_then(|approved| approved.items(T::KIND).get(item.own_name()));
        known.is_some_and(|known| *known == item.descriptor()) || self.unlike(item)
    }

    /// What becomes of an item that is not as it was approved.
    fn unlike<T: Item>(&mut self, item: &T) -> bool {
        let (kind, name) = (T::KIND, item.own_name());
        let why = format!("has not been approved; {}", self.remedy);
        if self.strict {
            let key = Some(item.key().to_owned());
            self.held.push(Refused { key, ..Refused::new(kind, name.to_owned(), why) });
        } else if self.approved.is_some() {
            self.warn(format!("the {} `{}` {why}", kind.as_str(), Escaped(name)));
        }
        !self.strict
    }

    fn finish(mut self) -> (Vec<Refused>, Vec<String>) {
        if self.more > 0 {
            self.warnings.push(format!("{} more of its items have not been approved", self.more));
        }
        (self.held, self.warnings)
    }
}

/// A digest as it is shown and kept.
fn sha256(bytes: &[u8]) -> String {
    with_algorithm(&HEXLOWER.encode(&Sha256::digest(bytes)))
}

#[cfg(test)]
mod tests {
    use super::super::list::{Fingerprint, Kind, Print};
    use super::*;

    /// A tool that is no more than its words.
    struct Words(&'static str, &'static str);

    impl Item for Words {
        const KIND: Kind = Kind::Tool;

        fn key(&self) -> &str {
            self.0
        }

        fn own_name(&self) -> &str {
            self.0
        }

        fn owner(&self) -> &str {
            "p"
        }

        fn fingerprint(&self, _: &mut Fingerprint) {}

        fn print(&self) -> &Print {
            static NONE: Print = Print::new();
            &NONE
        }
    }

    impl Described for Words {
        fn descriptor(&self) -> Descriptor {
            Descriptor { digest: sha256(self.1.as_bytes()), says: self.1.to_owned() }
        }
    }

    fn approved() -> Approved {
        let tool = Words("known", "says\n");
        Approved {
            digest: "sha256:aa".to_owned(),
            imports: vec!["x".to_owned()],
            grants: vec!["keep up to 16 MiB between calls".to_owned()],
            tools: [(tool.0.to_owned(), tool.descriptor())].into(),
            ..Approved::default()
        }
    }

    fn pins(mode: Pin) -> Pins {
        let mut lock = Lock::default();
        lock.approve("p", approved());
        Pins::new(mode, lock, Path::new("plugport.lock"))
    }

    fn kv() -> Grants {
        Grants { kv_mib: Some(16), ..Grants::default() }
    }

    #[test]
    fn what_is_not_as_it_was_approved_does_not_run() {
        let strict = pins(Pin::Strict);
        assert_eq!(strict.before("p", "aa", &kv()), Ok(None));
        let other = Grants { kv_mib: Some(17), ..Grants::default() };
        let more = Grants { elicitation: true, ..kv() };
        for (plugin, digest, grants, why) in [
            ("q", "aa", &kv(), "has not been approved; run `plugport approve q`"),
            ("p", "ab", &kv(), "is not the file that was approved; run `plugport approve p`"),
            ("p", "aa", &other, "is granted other things than were approved; run"),
            ("p", "aa", &more, "is granted other things than were approved; run"),
        ] {
            let told = strict.before(plugin, digest, grants).unwrap_err();
            assert!(told.starts_with(why), "{told}");
            assert_eq!(pins(Pin::Warn).before(plugin, digest, grants), Ok(Some(told)));
            assert_eq!(pins(Pin::Off).before(plugin, digest, grants), Ok(None));
        }
        assert_eq!(pins(Pin::Warn).before("p", "aa", &kv()), Ok(None));
        assert_eq!(strict.before("p", "aa", &Grants::default()), Ok(None), "less than was approved");
        assert_eq!(Pins::off().before("q", "ab", &other), Ok(None));
    }

    const REMEDY: &str = "run `plugport approve p`";

    /// What the gate does with one tool: whether it passes, what is held, what is warned of.
    fn pass(mode: Pin, tool: &Words, imports: &[&str]) -> (bool, Vec<Refused>, Vec<String>) {
        let (approved, imports) = (approved(), imports.iter().map(|&i| i.to_owned()).collect::<Vec<_>>());
        let mut gate = Gate::new(REMEDY, mode, Some(&approved), &imports);
        let passed = gate.admits(tool);
        let (held, warnings) = gate.finish();
        (passed, held, warnings)
    }

    #[test]
    fn an_item_that_was_not_approved_is_held_back_or_told_of() {
        let why = format!("has not been approved; {REMEDY}");
        assert_eq!(pass(Pin::Strict, &Words("known", "says\n"), &["x"]), (true, vec![], vec![]));
        for tool in [Words("known", "says more\n"), Words("new", "says\n")] {
            let held = Refused::new(Kind::Tool, tool.0.to_owned(), why.clone());
            let held = Refused { key: Some(tool.0.to_owned()), ..held };
            assert_eq!(pass(Pin::Strict, &tool, &["x"]), (false, vec![held], vec![]));
            let warning = format!("the tool `{}` {why}", tool.0);
            assert_eq!(pass(Pin::Warn, &tool, &["x"]), (true, vec![], vec![warning]));
        }
    }

    #[test]
    fn a_plugin_that_imports_something_else_shows_nothing() {
        let known = Words("known", "says\n");
        let (passed, held, warnings) = pass(Pin::Strict, &known, &["y", "x"]);
        assert_eq!((passed, held.len()), (false, 1));
        assert!(
            warnings[0].contains("than were approved, such as y; run `plugport approve p`"),
            "{warnings:?}"
        );
        let (passed, held, warnings) = pass(Pin::Warn, &known, &[]);
        assert_eq!((passed, held.len(), warnings.len()), (true, 0, 1));
    }

    #[test]
    fn warnings_are_few() {
        let approved = approved();
        let mut gate = Gate::new(REMEDY, Pin::Warn, Some(&approved), &["x".to_owned()]);
        assert!((0..100).all(|_| gate.admits(&Words("new", "says\n"))));
        let (_, warnings) = gate.finish();
        assert_eq!(warnings.len(), MOST_WARNINGS + 1);
        assert!(warnings.last().unwrap().starts_with("95 more"), "{warnings:?}");
    }

    #[test]
    fn a_plugin_is_looked_at_again_only_when_something_of_it_is_different() {
        let (one, mut lock) = (pins(Pin::Strict), Lock::default());
        lock.approve("p", approved());
        lock.approve("q", Approved::default());
        let more = Pins::new(Pin::Strict, lock, Path::new("plugport.lock"));
        assert!(one.agree(&more, "p") && !one.agree(&more, "q") && !one.agree(&pins(Pin::Warn), "p"));
    }
}
