use super::super::item_list::{ItemDigest, ItemHasher};
use super::super::name_owners::Claimant;
use super::super::uri;
use super::*;

/// An item of a kind that is no more than its key.
struct TestItem<const KIND: usize>(&'static str, &'static str, ItemDigest);

impl<const KIND: usize> Item for TestItem<KIND> {
    const KIND: ItemKind = ItemKind::ALL[KIND];

    fn key(&self) -> &str {
        self.1
    }

    fn own_name(&self) -> &str {
        self.1
    }

    fn owner(&self) -> &str {
        self.0
    }

    fn hash_into(&self, _: &mut ItemHasher) {}

    fn digest(&self) -> &ItemDigest {
        &self.2
    }
}

const TOOL: usize = 0;
const RESOURCE: usize = 1;
const TEMPLATE: usize = 2;

type TestItems = &'static [(&'static str, &'static str)];

fn items<const KIND: usize>(listed: TestItems) -> Vec<Arc<TestItem<KIND>>> {
    listed.iter().map(|(plugin, key)| Arc::new(TestItem(plugin, key, ItemDigest::new()))).collect()
}

/// `+` before a name: the operator names it; `?`: it was approved; `NAME=PREFIX`: it has this prefix.
fn owners(plugins: &[&str]) -> NameOwners {
    NameOwners::new(plugins.iter().map(|plugin| {
        let name = plugin.trim_start_matches(['+', '?']);
        let (name, prefix) = name.split_once('=').unwrap_or((name, name));
        Claimant {
            plugin: name.to_owned(),
            prefix: prefix.to_owned(),
            named: plugin.starts_with('+'),
            approved: plugin.starts_with('?'),
        }
    }))
}

/// What passes, as `PLUGIN KEY`, and what is said of the rest. The same whatever comes first.
fn settled<const KIND: usize>(plugins: &[&str], listed: TestItems) -> (Vec<String>, Vec<String>) {
    let owners = owners(plugins);
    let settle = |items: &[Arc<TestItem<KIND>>]| {
        let mut conflicts = NameConflicts::new(&owners);
        let passed = match KIND {
            TEMPLATE => conflicts.templates(items.iter()).0,
            RESOURCE => conflicts.resources(items.iter(), &PrefixIndex { nodes: Vec::new() }).0,
            _ => conflicts.names(items.iter()),
        };
        let mut passed: Vec<_> = passed.iter().map(|item| format!("{} {}", item.0, item.1)).collect();
        let mut told: Vec<_> =
            conflicts.rejected.into_values().flatten().map(|rejected| rejected.why).collect();
        passed.sort();
        told.sort();
        (passed, told)
    };
    let mut items = items(listed);
    let first = settle(&items);
    items.reverse();
    assert_eq!(first, settle(&items), "whatever comes first");
    first
}

#[test]
fn a_name_goes_to_whom_it_says_whoever_is_there_first() {
    let (passed, told) = settled::<TOOL>(
        &["github", "github-issues"],
        &[
            ("github", "github-issues-create"),
            ("github", "github-list"),
            ("github-issues", "github-issues-create"),
        ],
    );
    assert_eq!(passed, ["github github-list", "github-issues github-issues-create"]);
    assert_eq!(told, ["the name `github-issues-create` belongs to the plugin `github-issues`"]);
    let (passed, _) = settled::<TOOL>(&["github", "github-issues"], &[("github", "github-issues-create")]);
    assert!(passed.is_empty(), "its owner is there, though it lists nothing now: {passed:?}");
    let (passed, _) = settled::<TOOL>(&["github"], &[("github", "github-issues-create")]);
    assert_eq!(passed.len(), 1, "its owner is gone");
}

#[test]
fn a_bare_name_loses_against_one_that_is_owned_and_the_first_of_two_that_are_named_gets_it() {
    let (passed, told) = settled::<TOOL>(
        &["+a=", "+b=", "mail"],
        &[("a", "mail-send"), ("a", "version"), ("b", "Version"), ("b", "other"), ("mail", "mail-send")],
    );
    assert_eq!(passed, ["a version", "b other", "mail mail-send"]);
    assert_eq!(
        told,
        [
            "the name `Version` looks like `version` of the plugin `a`, which comes first by name",
            "the name `mail-send` belongs to the plugin `mail`",
        ]
    );
}

#[test]
fn of_those_with_one_prefix_the_one_gets_a_name_that_is_called_so() {
    let listed = &[("a", "mail-send"), ("mail", "mail-send"), ("a", "mail-list")];
    let (passed, told) = settled::<TOOL>(&["+a=mail", "+mail"], listed);
    assert_eq!(passed, ["a mail-list", "mail mail-send"]);
    assert_eq!(told, ["the name `mail-send` belongs to the plugin `mail`, which it names"]);
}

#[test]
fn what_names_nobody_goes_to_whom_somebody_knows_and_else_to_nobody() {
    const BOTH: TestItems = &[("a", "file:///x"), ("b", "FILE:///%78"), ("c", "file:///y")];
    let (passed, told) = settled::<RESOURCE>(&["a", "+b", "c"], BOTH);
    assert_eq!(passed, ["b FILE:///%78", "c file:///y"]);
    let why = "the URI `file:///x` looks like `FILE:///%78` of the plugin `b`, which the configuration names";
    assert_eq!(told, [why]);
    assert_eq!(settled::<RESOURCE>(&["?a", "b", "c"], BOTH).0, ["a file:///x", "c file:///y"]);
    let (passed, told) = settled::<RESOURCE>(&["a", "b", "c"], BOTH);
    assert_eq!(passed, ["c file:///y"]);
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|why| why.contains("with the same right; name one of them")), "{told:?}");
}

#[test]
fn who_is_ready_first_has_no_right_by_that_when_all_are() {
    for plugins in [&["a", "b"], &["?a", "b"], &["+a", "b"]] {
        let ready = |listed: TestItems| settled::<RESOURCE>(plugins, listed).0;
        assert_eq!(ready(&[("a", "file:///x")]), ["a file:///x"]);
        assert_eq!(ready(&[("b", "file:///x")]), ["b file:///x"]);
        // In both orders, as `settled` has it.
        let both = ready(&[("a", "file:///x"), ("b", "file:///x")]);
        let expected: &[&str] = if plugins[0] == "a" { &[] } else { &["a file:///x"] };
        assert_eq!(both, expected, "{plugins:?}");
    }
}

#[test]
fn templates_that_have_uris_in_common_go_the_same_way() {
    const LISTED: TestItems = &[
        ("files", "file:///{+path}"),
        ("evil", "file:///notes/{id}"),
        ("evil", "notes:///{x}"),
        ("evil", "notes:/%2f/{x}"),
        ("evil", "ui:{+all}"),
        ("notes", "ui://notes/{page}"),
        ("evil", "evil:///{x}"),
        ("other", "memo:{x}"),
    ];
    let (passed, told) = settled::<TEMPLATE>(&["+files", "evil", "notes", "other"], LISTED);
    assert_eq!(
        passed,
        ["evil evil:///{x}", "files file:///{+path}", "notes ui://notes/{page}", "other memo:{x}"]
    );
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[0].contains("has URIs of `file:///{+path}` of the plugin `files`"), "{told:?}");
    assert!(
        told[3].contains("`ui:{+all}` has URIs of `ui://notes/{page}` of the plugin `notes`, which it names")
    );
}

#[test]
fn a_listed_uri_is_its_own_answer_unless_its_template_has_the_better_right() {
    let templates = items::<TEMPLATE>(&[("files", "file:///{+path}"), ("wide", "memo:{+all}")]);
    let resources = items::<RESOURCE>(&[("evil", "file:///a"), ("evil", "memo:a"), ("wide", "memo:b")]);
    let owners = owners(&["+files", "wide", "evil"]);
    let mut conflicts = NameConflicts::new(&owners);
    let (_, prefixes) = conflicts.templates(templates.iter());
    let (passed, listed) = conflicts.resources(resources.iter(), &prefixes);
    let passed: Vec<_> = passed.iter().map(|item| item.1).collect();
    assert_eq!(passed, ["memo:a", "memo:b"]);
    let rejected = &conflicts.rejected["evil"][0];
    let why = "the URI `file:///a` is one of `file:///{+path}` of the plugin `files`, which the configuration names";
    assert_eq!((rejected.why.as_str(), rejected.owner.as_deref()), (why, Some("files")));
    assert_eq!(listed.get(&uri::canonical("MEMO:a").text), Some(&Some("evil".to_owned())));
    assert_eq!(listed.get(&uri::canonical("file:///a").text), None, "its template may answer");
}

#[test]
fn a_great_many_templates_are_settled_in_time() {
    let keys: Vec<&'static str> = (0..4_000)
        .map(|n| &*Box::leak(format!("memo:{}{{x}}", "a".repeat(n % 2_000)).into_boxed_str()))
        .collect();
    let items: Vec<Arc<TestItem<TEMPLATE>>> = keys
        .iter()
        .enumerate()
        .map(|(at, key)| Arc::new(TestItem(if at % 2 == 0 { "p" } else { "q" }, key, ItemDigest::new())))
        .collect();
    let owners = owners(&["p", "q"]);
    let begun = std::time::Instant::now();
    let passed = NameConflicts::new(&owners).templates(items.iter()).0;
    assert!(passed.is_empty(), "{} of two unknown plugins", passed.len());
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}
