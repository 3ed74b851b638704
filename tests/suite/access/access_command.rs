//! `plugport access` says what a caller sees and may use, and which line says so; `plugport check` warns of entries of
//! roles that mean nothing. What the command says is compared with what a server of the same configuration does.

use std::path::Path;

use plugport_tests::command::output;
use plugport_tests::guests::folder;
use plugport_tests::http_client::Client;
use plugport_tests::server::{Server, program};
use serde_json::{Value, json};

use super::{ADA, BOB, section};

/// With the lines that the tests name.
const ROLES: &str = "\
[roles.reader]
who = [\"group:staff\"]
allow = [
    \"polite-*\",
    \"library\",
]
deny = [\"polite-fail\", \"resource:lib:item/secret/*\"]

[roles.bounded]
who = [\"token:bob\"]
allow = [\"polite-echo\"]
when = { \"polite-echo\" = { \"/message\" = [\"/data/**\"] } }

[plugins.polite.tools.add]
scopes = [\"tools:write\"]

";

/// Ada belongs to the staff, and Bob does not.
fn config() -> String {
    format!("{ROLES}{}{}", section("ada", ADA, "groups = [\"staff\"]"), section("bob", BOB, ""))
}

fn plugins() -> tempfile::TempDir {
    folder(&["polite", "library"])
}

fn run(command: &str, plugins: &Path, config: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let file = plugins.join("plugport.toml");
    std::fs::write(&file, config).unwrap();
    let source = ["--plugins", plugins.to_str().unwrap(), "--config", file.to_str().unwrap()];
    output(program().arg(command).args(args).args(source).current_dir(plugins))
}

fn access(plugins: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    run("access", plugins, &config(), args)
}

fn report(plugins: &Path, args: &[&str]) -> Value {
    let (_, out, err) = access(plugins, &[args, &["--json"]].concat());
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"))
}

fn item<'r>(report: &'r Value, name: &str) -> &'r Value {
    let items = report["items"].as_array().unwrap();
    items.iter().find(|item| item["name"] == name).unwrap_or_else(|| panic!("{name} is not in {report:#}"))
}

#[test]
fn everything_that_a_caller_may_use_is_told_with_its_line() {
    let plugins = plugins();
    let (code, out, err) = access(plugins.path(), &["token:ada"]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    for said in [
        "caller: token:ada; group staff; no scopes\n",
        "may connect: it has credentials that [auth] accepts\n",
        "roles\n  reader, line 2: `group:staff`\nitems\n",
        "reader, line 4: allow `polite-*`\n",
        "reader, line 5: allow `library`\n",
        "reader, line 7: deny `polite-fail`\n",
        "needs scopes tools:write",
    ] {
        assert!(out.contains(said), "{said:?} is not in:\n{out}");
    }
    let of_bob = access(plugins.path(), &["token:bob"]).1;
    assert!(
        of_bob.contains("allowed; conditions on /message  bounded, line 11: allow `polite-echo`\n"),
        "{of_bob}"
    );
    assert!(of_bob.contains("no role allows it\n"), "{of_bob}");
}

#[test]
fn the_exit_code_says_whether_an_item_may_be_used() {
    let plugins = plugins();
    for (args, expected, said) in [
        ("token:ada --tool polite-echo", 0, "tool `polite-echo` of the plugin `polite`: allowed\n"),
        ("token:ada --tool polite-fail", 1, "hidden\n  reader, line 7: deny `polite-fail`\n"),
        ("token:ada --tool polite-add", 1, "needs scopes tools:write"),
        ("token:bob --tool polite-echo", 0, "allowed; conditions on /message"),
        ("token:bob --tool polite-echo --args {\"message\":\"/data/a\"}", 0, ": allowed\n"),
        (
            "token:bob --tool polite-echo --args {\"message\":\"/etc/a\"}",
            1,
            "line 12: when `/message`: you may not use",
        ),
        ("token:bob --tool polite-add", 1, "hidden\n  no role allows it\n"),
        (
            "token:ada token:bob --tool polite-add",
            2,
            "`token:ada` and `token:bob` describe no caller together",
        ),
        (
            "token:ada --prompt library-review",
            0,
            "prompt `library-review` of the plugin `library`: allowed\n",
        ),
        (
            "token:ada --resource lib:page/static",
            0,
            "resource `lib:page/static` of the plugin `library`: allowed\n",
        ),
        ("token:ada --resource lib:item/7/data", 0, "read through the template `lib:item/{id}/data`\n"),
        ("token:bob --resource lib:item/7/data", 1, "hidden\n"),
        (
            "token:ada --resource lib:item/{id}/data",
            0,
            "template `lib:item/{id}/data` of the plugin `library`: allowed\n",
        ),
        ("stdio --tool polite-echo", 1, "hidden\n  the caller has no role\n"),
        ("anonymous --tool polite-echo", 1, "may not connect: [auth] needs credentials"),
        ("group:staff --tool polite-echo", 0, ": allowed\n"),
        ("group:staff scope:none --tool polite-echo", 0, "warning: `scope:none` is nobody, since no token"),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let (code, out, err) = access(plugins.path(), &args);
        assert_eq!(code, Some(expected), "{args:?}: {out}{err}");
        assert!(out.contains(said) || err.contains(said), "{args:?}: {said:?} is not in:\n{out}{err}");
    }
}

#[test]
fn programs_are_told_the_same() {
    let plugins = plugins();
    let of_ada = report(plugins.path(), &["token:ada"]);
    assert_eq!((&of_ada["allowed"], &of_ada["connection"]["allowed"]), (&json!(true), &json!(true)));
    assert_eq!(of_ada["caller"]["groups"], json!(["staff"]));
    assert_eq!(of_ada["roles"], json!([{ "role": "reader", "who": "group:staff", "line": 2 }]));
    let failing = item(&of_ada, "polite-fail");
    let deny = json!({ "role": "reader", "list": "deny", "text": "polite-fail", "line": 7 });
    let allow = json!({ "role": "reader", "list": "allow", "text": "polite-*", "line": 4 });
    assert_eq!((&failing["decision"], &failing["rule"]), (&json!("hidden"), &deny), "{failing:#}");
    assert_eq!(failing["rules"], json!([deny, allow]), "{failing:#}");
    assert_eq!(item(&of_ada, "polite-add")["scopes"], json!(["tools:write"]));
    let of_bob = report(plugins.path(), &["token:bob", "--tool", "polite-echo"]);
    let echo = item(&of_bob, "polite-echo");
    assert_eq!((&of_bob["allowed"], &echo["decision"]), (&json!(true), &json!("conditional")));
    assert_eq!(echo["conditions"][0]["line"], 12, "{echo:#}");
}

/// Ada's lists and the items that she may use according to the command are the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_does_what_the_command_says() {
    let server = Server::builder().guest("polite").guest("library").config(&config()).start().await;
    let plugins = plugins();
    for (name, token) in [("token:ada", ADA), ("token:bob", BOB)] {
        let said = report(plugins.path(), &[name]);
        let client = Client::with_token(server.url(), token);
        for (method, list, key, kind) in [
            ("tools/list", "tools", "name", "tool"),
            ("prompts/list", "prompts", "name", "prompt"),
            ("resources/list", "resources", "uri", "resource"),
            ("resources/templates/list", "resourceTemplates", "uriTemplate", "template"),
        ] {
            let response = client.request(method, json!({})).await;
            let listed = response.result()[list].as_array().unwrap().iter().map(|item| &item[key]);
            let items = said["items"].as_array().unwrap().iter();
            let visible = items.filter(|item| item["kind"] == kind && item["decision"] != "hidden");
            let visible: Vec<&Value> = visible.map(|item| &item["name"]).collect();
            assert_eq!(listed.collect::<Vec<_>>(), visible, "{name} {method}");
        }
    }
}

#[test]
fn a_mistake_in_who_says_what_to_write() {
    let plugins = plugins();
    for (args, said) in [
        (
            "alice",
            "`alice` says nothing about a caller; write `stdio`, `anonymous`, or facts such as token:NAME",
        ),
        ("token:adda", "[[auth.tokens]] has no token `adda`; did you mean `ada`? (there are: ada, bob)"),
        ("sub:alice", "`sub:alice` is nobody, since [[auth.issuers]] has no issuer of access tokens"),
        ("token:ada --tool polite-ecko", "there is no tool `polite-ecko`; did you mean `polite-echo`?"),
        ("token:ada --resource lib:nothing", "there is no resource `lib:nothing`"),
        ("token:ada --tool polite-echo --args [1]", "--args must be a JSON object"),
        ("token:ada --args {}", "--args needs --tool or --prompt"),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let (code, out, err) = access(plugins.path(), &args);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}: {err}");
        assert!(err.contains(said), "{args:?}: {said:?} is not in:\n{err}");
    }
}

#[test]
fn a_subject_of_one_of_several_issuers_has_credentials() {
    let plugins = plugins();
    let issuer = |name: &str| format!("[[auth.issuers]]\nissuer = \"https://{name}.example.com\"\n");
    let roles = "[roles.a]\nwho = [\"sub:alice\"]\nallow = [\"polite\"]\n";
    let auth = "[auth]\nresource = \"https://tools.example.com/mcp\"\n";
    let config = format!("{auth}{}{}{roles}", issuer("a"), issuer("b"));
    let (code, out, err) = run("access", plugins.path(), &config, &["sub:alice", "--tool", "polite-echo"]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    for said in
        ["caller: sub:alice of some issuer; no groups; no scopes\n", "warning: which issuer is not said"]
    {
        assert!(out.contains(said), "{said:?} is not in:\n{out}");
    }
}

#[test]
fn without_roles_everybody_who_may_connect_sees_everything() {
    let plugins = plugins();
    let (code, out, err) = run("access", plugins.path(), "", &["anonymous", "--tool", "polite-echo"]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    for said in
        ["there are no [roles]: every caller", "over HTTP: everybody who reaches the server", ": allowed\n"]
    {
        assert!(out.contains(said), "{said:?} is not in:\n{out}");
    }
    let auth = section("ada", ADA, "");
    let (code, out, _) = run("access", plugins.path(), &auth, &["anonymous", "--tool", "polite-echo"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("over HTTP: the holders of tokens of [[auth.tokens]]\n"), "{out}");
}

#[test]
fn a_check_warns_of_entries_of_roles_that_mean_nothing() {
    let plugins = plugins();
    let config = "[roles.a]\nwho = [\"anyone\"]\n\
                  allow = [\"polite-ecko\", \"library\", \"library-review\", \"polite-*\"]\n\
                  deny = [\"polit-*\", \"resource:lib:item/secret\"]\n\
                  when = { \"polite-ehco\" = { \"/message\" = [\"/data/**\"] } }\n";
    let (code, out, _) = run("check", plugins.path(), config, &[]);
    let (without_roles, ..) = run("check", plugins.path(), "", &[]);
    assert_eq!(code, without_roles, "a warning is no fault: {out}");
    let warnings: Vec<&str> = out.lines().filter(|line| line.starts_with("warning: [roles.a]")).collect();
    let expected = [
        "warning: [roles.a] line 3: `polite-ecko` in `allow` means no plugin and no tool; did you mean `polite-echo`?",
        "warning: [roles.a] line 3: `library-review` in `allow` means no plugin and no tool; did you mean \
         `prompt:library-review`?",
        "warning: [roles.a] line 4: `polit-*` in `deny` means no tool; did you mean `polite-*`?",
        "warning: [roles.a] line 5: `polite-ehco` in `when` means no plugin and no tool; did you mean `polite-echo`?",
    ];
    assert_eq!(warnings, expected, "{out}");
    std::fs::write(plugins.path().join("polit.wasm"), "not WebAssembly").unwrap();
    let (_, out, _) = run("check", plugins.path(), config, &[]);
    assert!(!out.contains("`polit-*`"), "a plugin that could not be loaded may list it: {out}");
    let (code, out, _) = access(plugins.path(), &["token:ada"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("polit: its items are not known here: "), "{out}");
}
