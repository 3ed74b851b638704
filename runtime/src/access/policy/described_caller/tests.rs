use super::*;

fn auth() -> AuthConfig {
    let token = |name: &str, groups: &[&str], until: Option<SystemTime>| StaticToken {
        name: name.to_owned(),
        sha256: [0; 32],
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        scopes: vec!["tools".to_owned()],
        until,
    };
    let past = Some(SystemTime::UNIX_EPOCH);
    let tokens = vec![token("ci", &["old"], past), token("ci", &["build"], None), token("late", &[], past)];
    AuthConfig { tokens, ..AuthConfig::default() }
}

fn parse(words: &[&str], auth: Option<&AuthConfig>) -> Result<DescribedCaller, E> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    DescribedCaller::parse(&words, auth, SystemTime::now())
}

fn is(caller: &DescribedCaller, entry: &str) -> bool {
    caller.subject().is(&WhoPattern::parse(entry).unwrap())
}

#[test]
fn a_token_has_what_the_configuration_says() {
    let auth = auth();
    let ci = parse(&["token:ci", "address:10.0.0.7"], Some(&auth)).unwrap();
    for (entry, named) in [
        ("token:ci", true),
        ("principal:token:ci", true),
        ("group:build", true),
        ("group:old", false),
        ("scope:tools", true),
        ("address:10.0.0.0/8", true),
        ("sub:ci", false),
        ("stdio", false),
    ] {
        assert_eq!(is(&ci, entry), named, "{entry}");
    }
    assert_eq!(ci.warnings().len(), 1, "the two tokens differ: {:?}", ci.warnings());
    assert!(is(&parse(&["principal:token:ci"], Some(&auth)).unwrap(), "group:build"));
    let late = parse(&["token:late"], Some(&auth)).unwrap();
    let Subject::Http { principal: Some(principal), .. } = late.subject() else { panic!("{late:?}") };
    assert!(!principal.is_valid_at(SystemTime::now()));
}

#[test]
fn groups_and_scopes_describe_whoever_has_them() {
    let auth = auth();
    let caller = parse(&["group:analysts", "group:staff", "scope:data"], Some(&auth)).unwrap();
    assert!(is(&caller, "group:analysts") && is(&caller, "group:staff") && is(&caller, "authenticated"));
    assert!(caller.subject().has_scopes(&["data".into()]) && !is(&caller, "token:ci"));
    let told = caller.warnings();
    assert!(told.len() == 3 && told[0].starts_with("`group:analysts` is nobody"), "{told:?}");
    assert!(told[2].starts_with("`scope:data` is nobody"), "{told:?}");
    let given = parse(&["group:build", "scope:tools"], Some(&auth)).unwrap();
    assert!(given.warnings().is_empty(), "a token has them: {:?}", given.warnings());
}

#[test]
fn without_credentials_there_is_an_address_at_most() {
    let anonymous = parse(&["anonymous", "address:::1"], None).unwrap();
    assert!(is(&anonymous, "anyone") && is(&anonymous, "address:::1") && !is(&anonymous, "authenticated"));
    assert!(matches!(parse(&["stdio"], None).unwrap().subject(), Subject::Stdio));
    assert!(is(&parse(&["cert:alice"], Some(&auth())).unwrap(), "cert:*"));
}

#[test]
fn words_that_describe_no_caller_are_mistakes() {
    let auth = auth();
    for (words, said) in [
        ("user:alice", "`user:alice` says nothing about a caller; write `stdio`, `anonymous`"),
        ("alice", "`alice` says nothing about a caller"),
        ("group:", "`group:` needs a name after the colon"),
        ("anyone", "`anyone` may name many callers"),
        ("cert:*", "`cert:*` may name many callers"),
        ("address:10.0.0.0/8", "may name many callers"),
        ("stdio address:::1", "`stdio` and `address:::1` describe no caller together"),
        ("anonymous group:a", "a caller without credentials"),
        ("token:ci token:late", "write one of the two"),
        ("token:ci group:a", "[[auth.tokens]] says which groups"),
        ("cert:a scope:b", "a certificate has neither groups nor scopes"),
        ("token:cl", "has no token `cl`; did you mean `ci`? (there are: ci, late)"),
        ("sub:alice", "[[auth.issuers]] has no issuer of access tokens"),
        ("group:a client:bot", "`client:bot` is nobody"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let error = parse(&words, Some(&auth)).unwrap_err().to_string();
        assert!(error.contains(said), "{words:?}: {error}");
    }
    let error = parse(&["group:a"], None).unwrap_err();
    assert!(error.to_string().contains("there is no [auth]"), "{error}");
}
