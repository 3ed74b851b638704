//! Approvals: compares plugins with what the operator approved, and decides what becomes of all that differs.
//!
//! A plugin is checked twice. Before it runs, by its file and its grants, since an unapproved guest has no business with
//! what its namesake may reach. And whenever it has been listed, item by item, since a guest can list something else each
//! time: so an entry keeps the policy that it was checked by. Nothing here reads or runs anything but the
//! lockfile, so that every case can be tested.

mod approve_hint;
mod approved_plugin;
mod atomic_file;
mod descriptor;
mod diff;
mod item_text;
mod lockfile;

use std::path::Path;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

pub use approved_plugin::{ApprovedPlugin, ItemDescriptors};
pub use descriptor::ItemDescriptor;
pub use diff::{DiffKind, DiffSubject, Difference, compare};
pub use lockfile::{Lockfile, LockfileError};

use super::item_list::Item;
use super::plugin_entry::{PluginEntry, RejectedItem};
use crate::config::{ApprovalMode, Config, Grants};
use crate::observe::Escaped;
use approved_plugin::{sorted, with_algorithm};
use descriptor::Describe;

/// Warnings of one plugin that are told one by one.
const MOST_WARNINGS: usize = 5;

/// How strictly plugins are compared with their approvals, and these. Clones share them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalPolicy {
    mode: ApprovalMode,
    lockfile: Arc<Lockfile>,
    /// Where the lock is: paths below it are told as seen from there.
    folder: Arc<Path>,
    /// The options of `plugport approve` that lead to the plugins that are judged.
    approve_options: Arc<str>,
}

impl ApprovalPolicy {
    /// By `lockfile`, which lies at `file`. Whoever has to approve is told of the usual places.
    #[must_use]
    pub fn new(mode: ApprovalMode, lockfile: Lockfile, file: &Path) -> Self {
        let folder = file.parent().unwrap_or(Path::new(""));
        Self { mode, lockfile: Arc::new(lockfile), folder: folder.into(), approve_options: Arc::default() }
    }

    /// By the lock of this configuration, unless it does not matter.
    ///
    /// # Errors
    /// When it cannot be read or is not as it was written.
    pub fn read(mode: ApprovalMode, config: &Config) -> Result<Self, LockfileError> {
        let lockfile =
            if mode == ApprovalMode::Off { Lockfile::default() } else { Lockfile::read(&config.lock)? };
        Ok(Self {
            approve_options: approve_hint::options(config).into(),
            ..Self::new(mode, lockfile, &config.lock)
        })
    }

    /// By nothing: everything passes.
    #[must_use]
    pub fn off() -> Self {
        Self::new(ApprovalMode::Off, Lockfile::default(), Path::new(""))
    }

    /// How strict they are.
    #[must_use]
    pub fn mode(&self) -> ApprovalMode {
        self.mode
    }

    /// Whether a plugin is judged by the same as by `other`, so that it need not be looked at again.
    #[must_use]
    pub fn is_same_for(&self, other: &Self, plugin: &str) -> bool {
        self.mode == other.mode && self.lockfile.get(plugin) == other.lockfile.get(plugin)
    }

    /// Whether anything was approved under this name.
    #[must_use]
    pub fn knows(&self, plugin: &str) -> bool {
        self.lockfile.get(plugin).is_some()
    }

    /// Judges a plugin before it is run, by the digest of its file in hex and by what it may do, which may be less than was
    /// approved. A warning, if it may run and should not pass unnoticed.
    ///
    /// # Errors
    /// When it may not run, with the reason.
    pub fn check_file(&self, plugin: &str, digest: &str, grants: &Grants) -> Result<Option<String>, String> {
        if self.mode == ApprovalMode::Off {
            return Ok(None);
        }
        let is_within = |approved: &[String]| {
            grants.describe_relative_to(&self.folder).iter().all(|granted| approved.contains(granted))
        };
        let mismatch = match self.lockfile.get(plugin) {
            None => Some("has not been approved"),
            Some(approved) if approved.digest != with_algorithm(digest) => {
                Some("is not the file that was approved")
            }
            Some(approved) if !is_within(&approved.grants) => {
                Some("is granted other things than were approved")
            }
            Some(_) => None,
        };
        let approve_command = || approve_hint::approve_command(plugin, &self.approve_options);
        match mismatch.map(|mismatch| format!("{mismatch}; {} to see it and accept it", approve_command())) {
            Some(why) if self.mode == ApprovalMode::Strict => Err(why),
            warning => Ok(warning),
        }
    }

    /// Judges what a plugin imports and says of itself, and has the entry remember by what. An item that may not be shown
    /// is moved to those that are refused; the warnings tell of items that are shown all the same.
    #[must_use]
    pub fn check_listing(&self, mut entry: PluginEntry) -> (PluginEntry, Vec<String>) {
        entry.approval = self.clone();
        if self.mode == ApprovalMode::Off {
            return (entry, Vec::new());
        }
        let plugin = Arc::clone(&entry.plugin);
        let (approved, approve_command) = (
            self.lockfile.get(plugin.name()),
            approve_hint::approve_command(plugin.name(), &self.approve_options),
        );
        let mut filter = ItemFilter::new(&approve_command, self.mode, approved, &entry.interfaces.imports);
        entry.tools.retain(|item| filter.admits(&**item));
        entry.resources.retain(|item| filter.admits(&**item));
        entry.templates.retain(|item| filter.admits(&**item));
        entry.prompts.retain(|item| filter.admits(&**item));
        let (rejected, warnings) = filter.finish();
        entry.rejected.extend(rejected);
        entry.unapproved.clone_from(&warnings);
        (entry, warnings)
    }
}

/// Keeps or rejects the items of one plugin.
struct ItemFilter<'a> {
    /// How to approve them.
    approve_command: &'a str,
    strict: bool,
    /// Nothing, when the plugin as a whole is not what was approved.
    approved: Option<&'a ApprovedPlugin>,
    rejected: Vec<RejectedItem>,
    warnings: Vec<String>,
    /// Warnings that were one too many.
    more: usize,
}

impl<'a> ItemFilter<'a> {
    fn new(
        approve_command: &'a str,
        mode: ApprovalMode,
        approved: Option<&'a ApprovedPlugin>,
        imports: &[String],
    ) -> Self {
        let strict = mode == ApprovalMode::Strict;
        let mut filter =
            Self { approve_command, strict, approved, rejected: Vec::new(), warnings: Vec::new(), more: 0 };
        // One that is not in the lock was told of before it was run.
        if let Some(approved) = approved.filter(|approved| approved.imports != sorted(imports)) {
            let new = imports.iter().find(|import| !approved.imports.contains(import));
            let new = new.map(|import| format!(", such as {}", Escaped(import))).unwrap_or_default();
            filter.warn(format!("imports other interfaces than were approved{new}; {approve_command}"));
            filter.approved = filter.approved.filter(|_| !strict);
        }
        filter
    }

    fn warn(&mut self, warning: String) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(warning);
        } else {
            self.more += 1;
        }
    }

    /// Whether an item may be shown.
    fn admits<T: Describe>(&mut self, item: &T) -> bool {
        let known = self.approved.and_then(|approved| approved.items(T::KIND).get(item.own_name()));
        known.is_some_and(|known| *known == item.descriptor()) || self.admit_unapproved(item)
    }

    /// Whether an item that is not as it was approved may be shown.
    fn admit_unapproved<T: Item>(&mut self, item: &T) -> bool {
        let (kind, name) = (T::KIND, item.own_name());
        let why = format!("has not been approved; {}", self.approve_command);
        if self.strict {
            let key = Some(item.key().to_owned());
            self.rejected.push(RejectedItem { key, ..RejectedItem::new(kind, name.to_owned(), why) });
        } else if self.approved.is_some() {
            self.warn(format!("the {} `{}` {why}", kind.as_str(), Escaped(name)));
        }
        !self.strict
    }

    fn finish(mut self) -> (Vec<RejectedItem>, Vec<String>) {
        if self.more > 0 {
            self.warnings.push(format!("{} more of its items have not been approved", self.more));
        }
        (self.rejected, self.warnings)
    }
}

/// A digest as it is shown and kept.
fn sha256(bytes: &[u8]) -> String {
    with_algorithm(&HEXLOWER.encode(&Sha256::digest(bytes)))
}

#[cfg(test)]
mod tests {
    use super::super::item_list::{ItemDigest, ItemHasher, ItemKind};
    use super::*;
    use crate::config::{ElicitationGrant, KvGrant};

    /// A tool that is no more than its words.
    struct Words(&'static str, &'static str);

    impl Item for Words {
        const KIND: ItemKind = ItemKind::Tool;

        fn key(&self) -> &str {
            self.0
        }

        fn own_name(&self) -> &str {
            self.0
        }

        fn owner(&self) -> &str {
            "p"
        }

        fn hash_into(&self, _: &mut ItemHasher) {}

        fn digest(&self) -> &ItemDigest {
            static NONE: ItemDigest = ItemDigest::new();
            &NONE
        }
    }

    impl Describe for Words {
        fn descriptor(&self) -> ItemDescriptor {
            ItemDescriptor { digest: sha256(self.1.as_bytes()), says: self.1.to_owned() }
        }
    }

    fn approved() -> ApprovedPlugin {
        let tool = Words("known", "says\n");
        ApprovedPlugin {
            digest: "sha256:aa".to_owned(),
            imports: vec!["x".to_owned()],
            grants: vec!["keep up to 16 MiB between calls".to_owned()],
            tools: [(tool.0.to_owned(), tool.descriptor())].into(),
            ..ApprovedPlugin::default()
        }
    }

    fn approval(mode: ApprovalMode) -> ApprovalPolicy {
        let mut lockfile = Lockfile::default();
        lockfile.approve("p", approved());
        ApprovalPolicy::new(mode, lockfile, Path::new("plugport.lock"))
    }

    fn kv() -> Grants {
        Grants { keyvalue: Some(KvGrant { quota_mib: 16 }), ..Grants::default() }
    }

    #[test]
    fn what_is_not_as_it_was_approved_does_not_run() {
        let strict = approval(ApprovalMode::Strict);
        assert_eq!(strict.check_file("p", "aa", &kv()), Ok(None));
        let other = Grants { keyvalue: Some(KvGrant { quota_mib: 17 }), ..Grants::default() };
        let more = Grants { elicitation: ElicitationGrant(true), ..kv() };
        for (plugin, digest, grants, why) in [
            ("q", "aa", &kv(), "has not been approved; run `plugport approve q`"),
            ("p", "ab", &kv(), "is not the file that was approved; run `plugport approve p`"),
            ("p", "aa", &other, "is granted other things than were approved; run"),
            ("p", "aa", &more, "is granted other things than were approved; run"),
        ] {
            let told = strict.check_file(plugin, digest, grants).unwrap_err();
            assert!(told.starts_with(why), "{told}");
            assert_eq!(approval(ApprovalMode::Warn).check_file(plugin, digest, grants), Ok(Some(told)));
            assert_eq!(approval(ApprovalMode::Off).check_file(plugin, digest, grants), Ok(None));
        }
        assert_eq!(approval(ApprovalMode::Warn).check_file("p", "aa", &kv()), Ok(None));
        assert_eq!(strict.check_file("p", "aa", &Grants::default()), Ok(None), "less than was approved");
        assert_eq!(ApprovalPolicy::off().check_file("q", "ab", &other), Ok(None));
    }

    const REMEDY: &str = "run `plugport approve p`";

    /// What the gate does with one tool: whether it passes, what is held, what is warned of.
    fn pass(mode: ApprovalMode, tool: &Words, imports: &[&str]) -> (bool, Vec<RejectedItem>, Vec<String>) {
        let (approved, imports) = (approved(), imports.iter().map(|&i| i.to_owned()).collect::<Vec<_>>());
        let mut filter = ItemFilter::new(REMEDY, mode, Some(&approved), &imports);
        let passed = filter.admits(tool);
        let (rejected, warnings) = filter.finish();
        (passed, rejected, warnings)
    }

    #[test]
    fn an_item_that_was_not_approved_is_held_back_or_told_of() {
        let why = format!("has not been approved; {REMEDY}");
        assert_eq!(pass(ApprovalMode::Strict, &Words("known", "says\n"), &["x"]), (true, vec![], vec![]));
        for tool in [Words("known", "says more\n"), Words("new", "says\n")] {
            let rejected = RejectedItem::new(ItemKind::Tool, tool.0.to_owned(), why.clone());
            let rejected = RejectedItem { key: Some(tool.0.to_owned()), ..rejected };
            assert_eq!(pass(ApprovalMode::Strict, &tool, &["x"]), (false, vec![rejected], vec![]));
            let warning = format!("the tool `{}` {why}", tool.0);
            assert_eq!(pass(ApprovalMode::Warn, &tool, &["x"]), (true, vec![], vec![warning]));
        }
    }

    #[test]
    fn a_plugin_that_imports_something_else_shows_nothing() {
        let known = Words("known", "says\n");
        let (passed, rejected, warnings) = pass(ApprovalMode::Strict, &known, &["y", "x"]);
        assert_eq!((passed, rejected.len()), (false, 1));
        assert!(
            warnings[0].contains("than were approved, such as y; run `plugport approve p`"),
            "{warnings:?}"
        );
        let (passed, rejected, warnings) = pass(ApprovalMode::Warn, &known, &[]);
        assert_eq!((passed, rejected.len(), warnings.len()), (true, 0, 1));
    }

    #[test]
    fn warnings_are_few() {
        let approved = approved();
        let mut filter = ItemFilter::new(REMEDY, ApprovalMode::Warn, Some(&approved), &["x".to_owned()]);
        assert!((0..100).all(|_| filter.admits(&Words("new", "says\n"))));
        let (_, warnings) = filter.finish();
        assert_eq!(warnings.len(), MOST_WARNINGS + 1);
        assert!(warnings.last().unwrap().starts_with("95 more"), "{warnings:?}");
    }

    #[test]
    fn a_plugin_is_looked_at_again_only_when_something_of_it_is_different() {
        let (one, mut lockfile) = (approval(ApprovalMode::Strict), Lockfile::default());
        lockfile.approve("p", approved());
        lockfile.approve("q", ApprovedPlugin::default());
        let more = ApprovalPolicy::new(ApprovalMode::Strict, lockfile, Path::new("plugport.lock"));
        assert!(
            one.is_same_for(&more, "p")
                && !one.is_same_for(&more, "q")
                && !one.is_same_for(&approval(ApprovalMode::Warn), "p")
        );
    }
}
