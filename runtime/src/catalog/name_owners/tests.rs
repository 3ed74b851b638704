use super::*;

fn claimant(plugin: &str) -> Claimant {
    Claimant { plugin: plugin.to_owned(), prefix: plugin.to_owned(), named: false, approved: false }
}

fn named(plugin: &str, prefix: &str) -> Claimant {
    Claimant { prefix: prefix.to_owned(), named: true, ..claimant(plugin) }
}

fn approved(plugin: &str) -> Claimant {
    Claimant { approved: true, ..claimant(plugin) }
}

fn owners<const N: usize>(claimants: [Claimant; N]) -> NameOwners {
    let owners = NameOwners::new(claimants.clone());
    let reversed = NameOwners::new(claimants.into_iter().rev());
    let state = |owners: &NameOwners| (owners.claims.len(), owners.withheld.clone());
    assert_eq!(state(&owners), state(&reversed), "any order");
    owners
}

fn owner<'o>(owners: &'o NameOwners, kind: ItemKind, key: &str) -> Option<&'o str> {
    owners.claim_of(kind, &canonical(kind, key)).map(Claim::owner)
}

fn rank(owners: &NameOwners, plugin: &str, kind: ItemKind, key: &str) -> Rank {
    owners.check(plugin, kind, key).unwrap().0
}

#[test]
fn a_name_belongs_to_the_longest_name_that_it_begins_with() {
    let owners = owners([claimant("github"), claimant("github-issues"), claimant("git")]);
    for (name, expected) in [
        ("github-issues-create", Some("github-issues")),
        ("github-issues", Some("github")),
        ("github-issuesx-create", Some("github")),
        ("GitHub.1ssues_create", Some("github-issues")),
        ("git-hub", Some("git")),
        ("gitlab-create", None),
        ("git-", None),
    ] {
        assert_eq!(owner(&owners, ItemKind::Tool, name), expected, "{name}");
    }
    let error = owners.check("github", ItemKind::Tool, "github-issues-create").unwrap_err();
    assert_eq!(error.owner.as_deref(), Some("github-issues"));
    assert_eq!(error.why, "the name `github-issues-create` belongs to the plugin `github-issues`");
    assert!(owners.check("github", ItemKind::Prompt, "github-issues_create").is_err());
    let error = owners.check("github", ItemKind::Tool, "github-1ssues-x").unwrap_err();
    assert!(error.why.contains("looks like one of the plugin `github-issues`"), "{}", error.why);
    assert_eq!(rank(&owners, "github", ItemKind::Tool, "github-x"), Rank::Owner);
    assert!(owners.prefers("github-issues", "github", ItemKind::Tool, "github-issues-create"));
}

#[test]
fn what_the_operator_gives_counts_more_than_what_a_file_is_called() {
    let owners = owners([named("gh", "github"), claimant("github"), named("web", ""), claimant("mail")]);
    assert_eq!(owner(&owners, ItemKind::Tool, "github-x"), Some("gh"));
    let why = owners.withheld("github").unwrap();
    assert!(why.contains("prefix `github` of the plugin `gh`"), "{why}");
    let why = owners.check("web", ItemKind::Tool, "github-x").unwrap_err().why;
    assert!(why.ends_with("`gh`, to which the configuration gives the prefix `github`"), "{why}");
    assert_eq!(owners.check("web", ItemKind::Tool, "mail-send").unwrap_err().owner.unwrap(), "mail");
    assert_eq!(rank(&owners, "web", ItemKind::Tool, "send"), Rank::Named);
    assert_eq!(owner(&owners, ItemKind::Resource, "gh:all"), Some("gh"), "its own name is still its own");
    assert_eq!(owner(&owners, ItemKind::Resource, "web:all"), Some("web"));
}

#[test]
fn plugins_that_the_operator_gives_one_prefix_share_it() {
    let owners = owners([named("a", "mail"), named("mail", "mail"), claimant("b")]);
    assert_eq!(rank(&owners, "a", ItemKind::Tool, "mail-x"), Rank::Owner);
    assert_eq!(rank(&owners, "mail", ItemKind::Tool, "mail-x"), Rank::Namesake);
    assert!(owners.check("b", ItemKind::Tool, "mail-x").is_err());
    assert!(owners.withheld.is_empty());
}

#[test]
fn of_names_that_look_alike_the_one_stays_that_somebody_knows() {
    let all = owners([claimant("mail"), claimant("Mail"), claimant("rnail"), claimant("files")]);
    assert_eq!(all.withheld.len(), 3, "{:?}", all.withheld);
    let why = all.withheld("Mail").unwrap();
    assert!(why.contains("nothing says which of them is meant") && why.contains("[plugins.Mail]"), "{why}");
    assert_eq!(owner(&all, ItemKind::Tool, "mail-send"), Some("Mail"), "nobody else gets it");
    let one = owners([approved("mail"), claimant("Mail")]);
    assert!(one.withheld("mail").is_none() && one.withheld("Mail").is_some());
    assert_eq!(owner(&one, ItemKind::Tool, "Mail-send"), Some("mail"));
    assert_eq!(owners([approved("mail"), approved("Mail")]).withheld.len(), 2);
    let one = owners([approved("mail"), named("Mail", "Mail")]);
    assert!(one.withheld("mail").is_some_and(|why| why.contains("that of the plugin `Mail`; rename")));
    let settled = owners([claimant("mail"), named("Mail", "post")]);
    assert!(settled.withheld.is_empty());
    assert_eq!(owner(&settled, ItemKind::Tool, "mail-send"), Some("mail"));
    assert_eq!(owners([claimant("git-hub"), claimant("github")]).withheld.len(), 2);
    assert!(owners([named("Mail", "Mail"), named("mail", "mail")]).withheld.is_empty());
}

#[test]
fn a_uri_belongs_to_the_plugin_that_its_scheme_or_host_names() {
    let owners = owners([claimant("notes"), claimant("notes-old"), claimant("file")]);
    for (uri, expected) in [
        ("notes:///x", Some("notes")),
        ("NOTES:x", Some("notes")),
        ("notes-old:x", Some("notes-old")),
        ("notes+new:x", Some("notes")),
        ("ui://notes/page", Some("notes")),
        ("http://notes./page", Some("notes")),
        ("https://notes.example/page", None),
        ("file:///x", None),
        ("memo:x", None),
    ] {
        assert_eq!(owner(&owners, ItemKind::Resource, uri), expected, "{uri}");
    }
    assert_eq!(owner(&owners, ItemKind::Template, "notes:///{x}"), Some("notes"));
    assert_eq!(owner(&owners, ItemKind::Template, "ui://notes/{x}"), Some("notes"));
    assert_eq!(owner(&owners, ItemKind::Template, "ui://notes{x}/y"), None, "the host is not known yet");
    assert!(owners.is_owned_by_other("file", &uri::canonical("notes:x")));
    assert!(!owners.is_owned_by_other("notes", &uri::canonical("notes:x")));
}
