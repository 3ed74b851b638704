use super::*;

/// The variables as `x=1 y=2`, or `None` for a URI that does not come from the template.
fn matched(template: &str, uri: &str) -> Option<String> {
    let variables = UriTemplate::parse(template, 2_048).unwrap().match_uri(uri)?;
    Some(variables.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
}

fn assert_all(cases: &[(&str, &str, Option<&str>)]) {
    for (template, uri, variables) in cases {
        assert_eq!(matched(template, uri).as_deref(), *variables, "{template} {uri}");
    }
}

#[test]
fn expansions_of_a_template_match_it() {
    assert_all(&[
        ("note://all", "note://all", Some("")),
        ("test://template/{id}/data", "test://template/123/data", Some("id=123")),
        ("n:{x}/data", "n:O'Neil(b)!*@c:d,e;f=g/data", Some("x=O'Neil(b)!*@c:d,e;f=g")),
        ("n:{x}", "n:caf%C3%A9", Some("x=café")),
        ("n:{x,y}", "n:1,2", Some("x=1 y=2")),
        ("n:{+path}", "n:a/b?c#d", Some("path=a/b?c#d")),
        ("n:{+path}/here", "n:a/here/b/here", Some("path=a/here/b")),
        ("n:x{#frag}", "n:x#a/b", Some("frag=a/b")),
        ("n:x{#frag}", "n:x#", Some("frag=")),
        ("n:x{#frag}", "n:x", Some("")),
        ("n:x{.ext}", "n:x.tar.gz", Some("ext=tar.gz")),
        ("n:{/a,b}", "n:/1/2", Some("a=1 b=2")),
        ("n:{/a*}", "n:/1/2/3", Some("a=1 a=2 a=3")),
        ("n:x{;a,b}", "n:x;a=1;b", Some("a=1 b=")),
        ("n:x{;a*}{;b*}", "n:x;a=1;b;c=2;d", Some("a=1 b= c=2 d=")),
        ("n:x{?q}", "n:x?q=(a)*!:@", Some("q=(a)*!:@")),
        ("n:x{?a,b}", "n:x?a=1&b=2", Some("a=1 b=2")),
        ("n:x{?a,b}", "n:x?b=2", Some("b=2")),
        ("n:x{?a,b}", "n:x?a=", Some("a=")),
        ("n:x{?a,b}", "n:x", Some("")),
        ("n:x{?a*}", "n:x?any=1&thing=2", Some("any=1 thing=2")),
        ("n:x?f=1{&a}", "n:x?f=1&a=2", Some("a=2")),
        ("n:{a:3}", "n:abc", Some("a=abc")),
        ("n:{a}{b}", "n:12", Some("a=1 b=2")),
        ("n:x{?q}{#f}", "n:x?q=1#z", Some("q=1 f=z")),
    ]);
}

#[test]
fn what_a_template_does_not_make_does_not_match() {
    assert_all(&[
        ("note://all", "note://al", None),
        ("note://all", "note://alll", None),
        ("n.o:all", "n:o:all", None),
        ("test://template/{id}/data", "test://template/1/2/data", None),
        ("test://template/{id}/data", "test://template//data", None),
        ("n:{x}", "n:a?b", None),
        ("n:{x}", "n:", None),
        ("n:x{/a}", "n:x/", None),
        ("n:x{/a}{/b}", "n:x/1/2/3", None),
        ("n:x{?a,b}", "n:x?c=1", None),
        ("n:x{?a,b}", "n:x?a=1&a=2", None),
        ("n:x{?a,b}", "n:x?a=1&", None),
        ("n:x{?a,b}", "n:x?", None),
        ("n:x{?a}", "n:x?a=1?a=1", Some("a=1?a=1")),
        ("n:x{#f}", "n:xy", None),
    ]);
    assert!(UriTemplate::parse("n:{+x}", 9).unwrap().match_uri("n:34567890").is_none());
}

#[test]
fn a_variable_with_a_prefix_may_be_left_out() {
    assert_all(&[
        ("n:x{/a}{/b}", "n:x/1/2", Some("a=1 b=2")),
        ("n:x{/a}{/b}", "n:x/1", Some("a=1")),
        ("n:x{/a}{/b}", "n:x", Some("")),
        ("n:{x}{/y}{#z}", "n:1#f/g", Some("x=1 z=f/g")),
        ("n:b?c=1{&x,y}", "n:b?c=1&y=2", Some("y=2")),
        ("n:{id}{?x,y}", "n:a?y=2&x=%31", Some("id=a y=2 x=1")),
    ]);
}

#[test]
fn each_variable_has_as_much_as_it_can_from_left_to_right() {
    assert_all(&[
        ("n:{x}.{y}", "n:1.2.3", Some("x=1.2 y=3")),
        ("n:{+x}.md", "n:a/b.md.md", Some("x=a/b.md")),
        ("n:{+x}.md", "n:.md", None),
        ("n:{x}.txt", "n:.txt.txt", Some("x=.txt")),
        ("n:{x}.txt", "n:.txt", None),
        ("n:{x}-{y}.txt/{z}", "n:1-2-3.txt/4", Some("x=1-2 y=3 z=4")),
        ("img://{w}x{h}/{n}", "img://640x480/a%20b", Some("w=640 h=480 n=a b")),
        ("n:{x,y}", "n:1", Some("x=1")),
        ("n:{x,y}", "n:1,2,3", Some("x=1 y=2,3")),
        ("n:{x*}", "n:1%2C2,3", Some("x=1,2 x=3")),
        ("n:x{.a*}", "n:x.1.2", Some("a=1 a=2")),
        ("n:x{?a}b", "n:x?a=bb", Some("a=b")),
        ("n:x{?a}a", "n:x?aa", None),
    ]);
}

#[test]
fn a_value_is_whole_characters() {
    assert_all(&[
        ("n:{x}", "n:%41%20%c3%bc%2F", Some("x=A ü/")),
        ("n:{x}", "n:é", Some("x=é")),
        ("n:{x}{y}", "n:a%C3%A9", Some("x=a y=é")),
        ("n:{x}{y}", "n:aé", Some("x=a y=é")),
        ("n:{x}{y}", "n:😀z", Some("x=😀 y=z")),
        ("n:{x}", "n:%4", None),
        ("n:{x}", "n:%zz", None),
        ("n:{x}", "n:%00", None),
        ("n:{x}", "n:%ff", None),
        ("n:{x}{y}", "n:%A9%A9", None),
        ("n:{x}4{y}", "n:%44%41", None),
        ("n:%4{x}", "n:%41", None),
        ("n:x{?p}", "n:x?p=%ff", None),
    ]);
}

#[test]
fn bad_templates_are_rejected_with_a_reason() {
    let fault = |text: &str| UriTemplate::parse(text, 2_048).unwrap_err();
    assert_eq!(fault("n:{x"), UriTemplateError::Brace);
    assert_eq!(fault("n:x}"), UriTemplateError::Brace);
    assert_eq!(fault("n:{a{b}}"), UriTemplateError::Variable);
    assert_eq!(fault("n:{}"), UriTemplateError::Variable);
    assert_eq!(fault("n:{a,}"), UriTemplateError::Variable);
    assert_eq!(fault("n:{a:x}"), UriTemplateError::Variable);
    assert_eq!(fault("n:{=a}"), UriTemplateError::Operator('='));
    assert_eq!(fault("n:a b{x}"), UriTemplateError::Character(' '));
    assert_eq!(fault("{+everything}"), UriTemplateError::Scheme);
    assert_eq!(fault(""), UriTemplateError::Scheme);
    assert_eq!(fault(&format!("n:{}", "{x}".repeat(33))), UriTemplateError::TooMany);
    assert_eq!(fault(&format!("n:{{x}}{{?a{}}}", ",a".repeat(31))), UriTemplateError::TooMany);
    assert_eq!(fault(&format!("n:{}", "{;x}".repeat(5))), UriTemplateError::TooMany);
    assert_eq!(fault(&format!("n:{{{}}}", "x".repeat(65))), UriTemplateError::Variable);
}

#[test]
fn a_uri_gives_a_template_a_bounded_number_of_values() {
    let template = UriTemplate::parse("n:{x*}", 2_048).unwrap();
    assert_eq!(template.match_uri(&format!("n:{}", ",".repeat(255))).unwrap().len(), 256);
    assert!(template.match_uri(&format!("n:{}", ",".repeat(256))).is_none());
}

#[test]
fn hostile_templates_and_uris_end_in_time() {
    let names = |first: char| {
        let names: Vec<String> = (0..31).map(|at| format!("v{at}")).collect();
        format!("{{{first}{}}}", names.join(","))
    };
    let rows = [
        "{+x}a".repeat(31),
        "-{x}-{z}".to_owned(),
        "{?a*}{&b*}{;c*}{;d*}".to_owned(),
        "{?a,b,c}{&a,b,c}{;a,b,c}".to_owned(),
        format!("{{+x}}{}{{+z}}", "a".repeat(1_000)),
        names('&'),
        names(';'),
    ];
    let fillers = [
        "a",
        ";a",
        "?a=1",
        "&b=1",
        ";c",
        "?a&a&a&a",
        "#",
        "-",
        "%2D-",
        "?a=",
        "&v0&v1&v2&v3",
        ";v0=;v1=;v30",
    ];
    let started = std::time::Instant::now();
    for row in &rows {
        // Matching goes from the end to the front, and only there it shows that nothing fits: no value of `{y}` has a
        // slash.
        let template = UriTemplate::parse(&format!("n:{{y}}{row}"), 2_048).unwrap();
        for filler in fillers {
            let uri: String = format!("n:/{}", filler.repeat(2_045)).chars().take(2_048).collect();
            assert!(template.match_uri(&uri).is_none(), "{row} {filler}");
        }
    }
    assert!(started.elapsed().as_millis() < 2_000, "{:?}", started.elapsed());
}
