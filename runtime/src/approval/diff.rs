//! The differences between a plugin and its approval, for an operator who has to accept or reject them.
//!
//! All differences are shown, however long: an attacker would use a part that is not shown.

use similar::{ChangeTag, TextDiff};

use super::approved_plugin::{ApprovedPlugin, ItemDescriptors};
use crate::observe::Escaped;
use crate::plugin::ItemKind;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// Lines of both texts beyond which they are shown one after the other: comparing could take as many steps as one has
/// lines times the lines of the other.
const MAX_COMPARED_LINES: usize = 10_000;

/// What can be different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffSubject {
    /// Its file.
    Digest,
    /// The interfaces that it imports.
    Imports,
    /// Its grants.
    Grants,
    /// An item, by the plugin's own name for it.
    Item(ItemKind, String),
}

/// How the subject differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffKind {
    /// It was not approved.
    Added,
    /// It was approved and is gone.
    Removed,
    /// It differs from what was approved.
    Changed,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What differs.
    pub subject: DiffSubject,
    /// In which way.
    pub how: DiffKind,
    /// Lines of a unified diff, harmless on a terminal.
    pub lines: Vec<String>,
}

/// Compares a plugin with its approval, if it has one.
#[must_use]
pub fn compare(old: Option<&ApprovedPlugin>, new: &ApprovedPlugin) -> Vec<Difference> {
    let nothing = ApprovedPlugin::default();
    let before = old.unwrap_or(&nothing);
    let mut differences = Vec::new();
    let one = |text: &str| Vec::from_iter((!text.is_empty()).then(|| text.to_owned()));
    differences.extend(list_difference(DiffSubject::Digest, &one(&before.digest), &one(&new.digest)));
    differences.extend(list_difference(DiffSubject::Imports, &before.imports, &new.imports));
    differences.extend(list_difference(DiffSubject::Grants, &before.grants, &new.grants));
    for kind in ItemKind::ALL {
        items(kind, before.items(kind), new.items(kind), &mut differences);
    }
    differences
}

impl Difference {
    /// Shows a text of the subject that is in neither approval.
    pub fn show(&mut self, text: &str) {
        self.lines.extend(whole('+', text));
    }

    /// A line with the subject, and the indented diff.
    #[must_use]
    pub fn in_lines(&self) -> Vec<String> {
        let subject = match &self.subject {
            DiffSubject::Digest => "digest".to_owned(),
            DiffSubject::Imports => "imports".to_owned(),
            DiffSubject::Grants => "grants".to_owned(),
            DiffSubject::Item(kind, name) => format!("{} `{}`", kind.as_str(), Escaped(name)),
        };
        let how = match self.how {
            DiffKind::Added => "added",
            DiffKind::Removed => "removed",
            DiffKind::Changed => "changed",
        };
        let lines = self.lines.iter().map(|line| format!("  {line}"));
        std::iter::once(format!("{subject} {how}:")).chain(lines).collect()
    }
}

/// The difference of two sorted lists.
fn list_difference(subject: DiffSubject, old: &[String], new: &[String]) -> Option<Difference> {
    let removed = old.iter().filter(|one| !new.contains(one)).map(|one| signed('-', one));
    let added = new.iter().filter(|one| !old.contains(one)).map(|one| signed('+', one));
    let lines: Vec<_> = removed.chain(added).collect();
    let how = match (old.is_empty(), new.is_empty()) {
        (true, _) => DiffKind::Added,
        (_, true) => DiffKind::Removed,
        _ => DiffKind::Changed,
    };
    (old != new).then_some(Difference { subject, how, lines })
}

fn items(kind: ItemKind, old: &ItemDescriptors, new: &ItemDescriptors, differences: &mut Vec<Difference>) {
    let mut names: Vec<_> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let (how, lines) = match (old.get(name), new.get(name)) {
            (Some(old), Some(new)) if old == new => continue,
            (Some(old), Some(new)) => (DiffKind::Changed, unified(&old.says, &new.says)),
            (None, Some(new)) => (DiffKind::Added, whole('+', &new.says)),
            (Some(old), None) => (DiffKind::Removed, whole('-', &old.says)),
            (None, None) => continue,
        };
        differences.push(Difference { subject: DiffSubject::Item(kind, name.clone()), how, lines });
    }
}

fn unified(old: &str, new: &str) -> Vec<String> {
    if old.lines().count() + new.lines().count() > MAX_COMPARED_LINES {
        return whole('-', old).into_iter().chain(whole('+', new)).collect();
    }
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        lines.push(hunk.header().to_string());
        lines.extend(hunk.iter_changes().map(|change| {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            signed(sign, change.value())
        }));
    }
    lines
}

fn whole(sign: char, text: &str) -> Vec<String> {
    text.lines().map(|line| signed(sign, line)).collect()
}

fn signed(sign: char, line: &str) -> String {
    format!("{sign}{}", Escaped(line.strip_suffix('\n').unwrap_or(line)))
}

#[cfg(test)]
mod tests {
    use super::super::item_descriptor::ItemDescriptor;
    use super::*;

    fn approved(digest: &str, imports: &[&str], tools: &[(&str, &str)]) -> ApprovedPlugin {
        let described = |says: &str| ItemDescriptor { digest: says.to_owned(), says: says.to_owned() };
        ApprovedPlugin {
            digest: digest.to_owned(),
            imports: imports.iter().map(|&import| import.to_owned()).collect(),
            tools: tools.iter().map(|(name, says)| ((*name).to_owned(), described(says))).collect(),
            ..ApprovedPlugin::default()
        }
    }

    fn told(old: Option<&ApprovedPlugin>, new: &ApprovedPlugin) -> Vec<String> {
        compare(old, new).iter().flat_map(Difference::in_lines).collect()
    }

    #[test]
    fn what_is_the_same_has_no_differences() {
        let one = approved("a", &["x"], &[("t", "name: t\n")]);
        assert_eq!(compare(Some(&one), &one), []);
    }

    #[test]
    fn everything_of_a_new_plugin_is_shown() {
        let new = approved("sha256:a", &["wasi:http/types@0.2.6"], &[("t", "name: t\ntitle: T\n")]);
        assert_eq!(
            told(None, &new),
            [
                "digest added:",
                "  +sha256:a",
                "imports added:",
                "  +wasi:http/types@0.2.6",
                "tool `t` added:",
                "  +name: t",
                "  +title: T"
            ]
        );
    }

    #[test]
    fn changes_are_shown_line_by_line_with_what_is_around() {
        let old = approved("a", &["x", "y"], &[("gone", "name: gone\n"), ("t", "1\n2\n3\n4\n5\nold\n7\n")]);
        let new = approved("a", &["x", "z"], &[("t", "1\n2\n3\n4\n5\nnew\n7\n")]);
        assert_eq!(
            told(Some(&old), &new),
            [
                "imports changed:",
                "  -y",
                "  +z",
                "tool `gone` removed:",
                "  -name: gone",
                "tool `t` changed:",
                "  @@ -3,5 +3,5 @@",
                "   3",
                "   4",
                "   5",
                "  -old",
                "  +new",
                "   7"
            ]
        );
    }

    #[test]
    fn nothing_untrusted_moves_a_cursor_or_begins_a_line() {
        let new = approved("a", &["x\u{1b}[2J"], &[("t\u{1b}\ndigest", "name:\n  a\r\u{202e}b\u{1b}[1A\n")]);
        let told = told(None, &new).join("\n");
        assert!(!told.chars().any(|c| c != '\n' && crate::observe::is_deceptive(c)), "{told}");
        assert!(!told.contains("\ndigest`"), "{told}");
    }

    #[test]
    fn texts_too_long_to_be_compared_are_shown_whole() {
        let lines = |word: &str| (0..6_000).map(|n| format!("{word}{n}\n")).collect::<String>();
        assert_eq!(unified(&lines("a"), &lines("b")).len(), 12_000);
    }
}
