//! The verdict on a listing: which items clients may see, and what the operator is warned of.
//!
//! It reads the listing as plain data, one item at a time. The caller publishes the admitted items and rejects the
//! others with the reason given here.

use super::approved_plugin::{ApprovedPlugin, sorted};
use crate::observe::Escaped;
use crate::plugin::ItemKind;

/// Warnings of one plugin that are shown one by one; further ones are counted.
const MAX_WARNINGS: usize = 5;

/// The verdict on one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemVerdict {
    /// Clients may see it. If it is not as it was approved, one of the warnings says so.
    Admitted,
    /// Clients may not see it, for this reason.
    Rejected(String),
}

/// Compares one listing of one plugin with its approval.
#[derive(Debug)]
pub struct ListingReview<'a> {
    /// How to approve the items.
    approve_command: String,
    is_strict: bool,
    /// `None` when the plugin as a whole does not match its approval.
    approved: Option<&'a ApprovedPlugin>,
    warnings: Vec<String>,
    /// Warnings beyond [`MAX_WARNINGS`].
    more: usize,
}

impl<'a> ListingReview<'a> {
    pub(super) fn new(
        approve_command: String,
        is_strict: bool,
        approved: Option<&'a ApprovedPlugin>,
        imports: &[String],
    ) -> Self {
        let mut review = Self { approve_command, is_strict, approved, warnings: Vec::new(), more: 0 };
        // For a plugin that is not in the lockfile, `ApprovalPolicy::check_file` gave a warning.
        if let Some(approved) = approved.filter(|approved| approved.imports != sorted(imports)) {
            let new = imports.iter().find(|import| !approved.imports.contains(import));
            let new = new.map(|import| format!(", such as {}", Escaped(import))).unwrap_or_default();
            let approve_command = &review.approve_command;
            review.warn(format!("imports other interfaces than were approved{new}; {approve_command}"));
            review.approved = review.approved.filter(|_| !is_strict);
        }
        review
    }

    /// Checks one item. `digest`, that of its descriptor, is computed only if an item with this own name was approved.
    pub fn check(&mut self, kind: ItemKind, own_name: &str, digest: impl FnOnce() -> String) -> ItemVerdict {
        let approved = self.approved.and_then(|approved| approved.items(kind).get(own_name));
        if approved.is_some_and(|approved| approved.digest == digest()) {
            return ItemVerdict::Admitted;
        }
        let why = format!("has not been approved; {}", self.approve_command);
        if self.is_strict {
            return ItemVerdict::Rejected(why);
        }
        if self.approved.is_some() {
            self.warn(format!("the {} `{}` {why}", kind.as_str(), Escaped(own_name)));
        }
        ItemVerdict::Admitted
    }

    /// The warnings for the operator: a few sentences.
    #[must_use]
    pub fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.warnings.push(format!("{} more of its items have not been approved", self.more));
        }
        self.warnings
    }

    fn warn(&mut self, warning: String) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(warning);
        } else {
            self.more += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::item_descriptor::ItemDescriptor;
    use super::super::sha256::sha256;
    use super::*;

    const APPROVE: &str = "run `plugport approve p`";

    fn descriptor(says: &str) -> ItemDescriptor {
        ItemDescriptor { digest: sha256(says.as_bytes()), says: says.to_owned() }
    }

    fn approved() -> ApprovedPlugin {
        ApprovedPlugin {
            imports: vec!["x".to_owned()],
            tools: [("known".to_owned(), descriptor("says\n"))].into(),
            ..ApprovedPlugin::default()
        }
    }

    /// What becomes of one tool, and what is warned of.
    fn review(is_strict: bool, (name, says): (&str, &str), imports: &[&str]) -> (ItemVerdict, Vec<String>) {
        let (approved, imports) = (approved(), imports.iter().map(|&i| i.to_owned()).collect::<Vec<_>>());
        let mut review = ListingReview::new(APPROVE.to_owned(), is_strict, Some(&approved), &imports);
        let verdict = review.check(ItemKind::Tool, name, || descriptor(says).digest);
        (verdict, review.finish())
    }

    #[test]
    fn an_item_that_was_not_approved_is_rejected_or_warned_of() {
        let why = format!("has not been approved; {APPROVE}");
        assert_eq!(review(true, ("known", "says\n"), &["x"]), (ItemVerdict::Admitted, vec![]));
        for tool in [("known", "says more\n"), ("new", "says\n")] {
            assert_eq!(review(true, tool, &["x"]), (ItemVerdict::Rejected(why.clone()), vec![]));
            let warning = format!("the tool `{}` {why}", tool.0);
            assert_eq!(review(false, tool, &["x"]), (ItemVerdict::Admitted, vec![warning]));
        }
    }

    #[test]
    fn a_plugin_that_imports_something_else_shows_nothing() {
        let known = ("known", "says\n");
        let (verdict, warnings) = review(true, known, &["y", "x"]);
        assert!(matches!(verdict, ItemVerdict::Rejected(_)), "{verdict:?}");
        assert!(
            warnings[0].contains("than were approved, such as y; run `plugport approve p`"),
            "{warnings:?}"
        );
        let (verdict, warnings) = review(false, known, &[]);
        assert_eq!((verdict, warnings.len()), (ItemVerdict::Admitted, 1));
    }

    #[test]
    fn warnings_are_few() {
        let approved = approved();
        let mut review = ListingReview::new(APPROVE.to_owned(), false, Some(&approved), &["x".to_owned()]);
        let admitted =
            |_| review.check(ItemKind::Tool, "new", || descriptor("says\n").digest) == ItemVerdict::Admitted;
        assert!((0..100).all(admitted));
        let warnings = review.finish();
        assert_eq!(warnings.len(), MAX_WARNINGS + 1);
        assert!(warnings.last().unwrap().starts_with("95 more"), "{warnings:?}");
    }
}
