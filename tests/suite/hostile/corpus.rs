//! Every entry of the hostile corpus is tested.
//!
//! [`assert_contained`] asserts the eight points of each attack. Properties beyond these, such as client requests, have
//! tests of their own here. Attacks on files and networks are in `grants`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use plugport_tests::build::{files_below, root};
use plugport_tests::containment::{self, assert_contained};
use plugport_tests::corpus::{self, Evidence};
use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::{Value, json};

/// The repeats of an attack here. The program `containment` repeats it as often as the corpus says, mostly a hundred
/// times.
const EVERY_DAY: u32 = 20;

/// One test for each entry with attacks.
macro_rules! contained {
    ($($test:ident: $id:literal;)*) => {
        const CONTAINED: &[(&str, &str)] = &[$(($id, stringify!($test))),*];
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                let entry = corpus::entries().find(|entry| entry.id == $id).unwrap();
                // They run at the same time, up to the number of servers that may.
                let attacks = entry.attacks().map(|attack| {
                    let attack = attack.times(attack.repeats.min(EVERY_DAY));
                    tokio::spawn(async move { assert_contained(entry.id, &attack).await })
                });
                for attack in attacks.collect::<Vec<_>>() {
                    attack.await.unwrap();
                }
            }
        )*
    };
}

contained! {
    h1_loop_in_call: "H1";
    h2_loop_in_start: "H2";
    h3_loop_in_list_tools: "H3";
    h4_busy_host_calls: "H4";
    h5_memory_bomb: "H5";
    h6_memory_64: "H6";
    h7_table_bomb: "H7";
    h8_stack_overflow: "H8";
    h9_handle_bomb: "H9";
    h10_host_recursion: "H10";
    h11_many_instances: "H11";
    h12_huge_return_list: "H12";
    h13_huge_string: "H13";
    h14_bad_utf8: "H14";
    h14b_bad_json: "H14b";
    h15_log_flood: "H15";
    h16_progress_flood: "H16";
    h17_sampling_flood: "H17";
    h18_path_dotdot: "H18";
    h19_symlink_escape: "H19";
    h20_proc_probe: "H20";
    h21_disk_filler: "H21";
    h22_ssrf_literals: "H22";
    h23_ssrf_redirect: "H23";
    h24b_http_bomb: "H24b";
    h24c_http_client: "H24c";
    h25_env_probe: "H25";
    h26_clock_abuse: "H26";
    h26b_fd_exhaustion: "H26b";
    h26c_sleep_forever: "H26c";
    h27_shape_shifter: "H27";
    h28_names: "H28";
    h29_schemas: "H29";
    h30_truncated: "H30";
    h31_core_module: "H31";
    h32_wrong_world: "H32";
    h33_wrong_kind: "H33";
    h43_files_that_claim: "H43";
    h44_files_that_climb: "H44";
    h45_skill_bombs: "H45";
    h46_app_that_phones_home: "H46";
    h47_app_of_a_guest: "H47";
    h60_held: "H60";
    a1_trailing_slash: "A1";
    a2_symlink_rename: "A2";
    a3_hard_link: "A3";
    a4_absolute_form: "A4";
    a5_handle_growth: "A5";
    a6_many_fields: "A6";
    a7_empty_writes: "A7";
    a8_yield_in_start: "A8";
    a9_borrowed_transfer: "A9";
    q1_quota_race: "Q1";
    q2_long_paths: "Q2";
    s1_dear_promises: "S1";
    f1_passing: "F1";
    f2_bulk_memory: "F2";
    f3_endless_callbacks: "F3";
    f5_large_calls: "F5";
    f17_data_in_start: "F17";
    t3_endless_questions: "T3";
    t4_unread_tasks: "T4";
}

fn names(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The sources of the suite, all in one.
fn suite() -> String {
    files_below("tests/suite").iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// The attributes and doc comments above a function, from below; `None` without such a function.
fn attributes<'a>(source: &'a str, function: &str) -> Option<Vec<&'a str>> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let begin = format!("fn {function}(");
    let at = lines.iter().position(|line| line.strip_prefix("async ").unwrap_or(line).starts_with(&begin))?;
    let above = lines[..at].iter().rev().copied();
    Some(above.take_while(|line| line.starts_with("#[") || line.starts_with("///")).collect())
}

/// Why a test does not show an entry: it does not exist, is no test, or is ignored when it must not be.
fn missing(source: &str, test: &str, ignored: bool) -> Option<String> {
    let Some(above) = attributes(source, test) else { return Some(format!("{test} does not exist")) };
    let is_test = |line: &&str| *line == "#[test]" || line.starts_with("#[tokio::test");
    if !above.iter().any(is_test) {
        return Some(format!("{test} is no test"));
    }
    let found = above.iter().any(|line| line.starts_with("#[ignore"));
    (found != ignored).then(|| format!("{test} is ignored: {found}"))
}

#[test]
fn every_entry_is_tested() {
    let suite = suite();
    let (mut ids, mut wrong) = (BTreeSet::new(), Vec::new());
    for entry in corpus::entries() {
        assert!(ids.insert(entry.id), "{} is there twice", entry.id);
        assert!(!entry.evidence.is_empty(), "nothing shows {}", entry.title());
        let listed = CONTAINED.iter().any(|(id, test)| *id == entry.id && test.ends_with(entry.name));
        assert_eq!(listed, entry.attacks().next().is_some(), "the attacks of {} have no test", entry.title());
        let found = entry.evidence.iter().filter_map(|evidence| match evidence {
            Evidence::Test(test) => missing(&suite, test, false),
            Evidence::Soak(test) => missing(&suite, test, true),
            Evidence::Contained(_) | Evidence::Untestable(_) => None,
        });
        wrong.extend(found.map(|why| format!("{}: {why}", entry.title())));
    }
    assert_eq!(wrong, [""; 0], "entries that nothing shows");
    let numbered = (1..=47).map(|at| format!("H{at}")).chain((1..=9).map(|at| format!("A{at}")));
    let found = (1..=5).chain(9..=13).chain(15..=17);
    let numbered = numbered.chain(found.map(|at| format!("F{at}"))).chain((1..=5).map(|at| format!("T{at}")));
    let more = ["H14b", "H24b", "H24c", "H26b", "H26c"].map(str::to_owned);
    for id in numbered.chain(more) {
        assert!(ids.contains(id.as_str()), "{id} is not in the table");
    }
}

/// The unit tests that a reason names exist.
#[test]
fn the_unit_tests_that_a_reason_names_exist() {
    let mut named = 0;
    for entry in corpus::entries() {
        for evidence in entry.evidence {
            let Evidence::Untestable(why) = evidence else { continue };
            let (files, tests): (Vec<&str>, Vec<&str>) =
                why.split('`').skip(1).step_by(2).partition(|word| word.contains('/'));
            let read = |file: &&str| std::fs::read_to_string(root().join(file)).unwrap();
            let sources: String = files.iter().map(read).collect();
            for test in tests {
                named += 1;
                assert_eq!(missing(&sources, test, false), None, "{}", entry.title());
            }
        }
    }
    assert_eq!(named, 3, "the tests of rebinding");
}

#[test]
fn only_what_runs_by_itself_counts_as_a_test() {
    let source = "#[tokio::test(flavor = \"multi_thread\")]\nasync fn a() {}\n\
                  /// At length.\n#[test]\n#[ignore = \"long\"]\nfn b() {}\n\nfn c() {}\n// fn d() {}\n";
    assert_eq!(missing(source, "a", false), None);
    assert_eq!(missing(source, "b", true), None);
    for (name, ignored) in [("a", true), ("b", false), ("c", false), ("d", false)] {
        assert!(missing(source, name, ignored).is_some(), "{name}");
    }
}

#[test]
fn every_hostile_guest_belongs_to_an_entry() {
    let known: BTreeSet<&str> = corpus::entries().flat_map(|entry| entry.guests()).collect();
    let tests: BTreeSet<&str> = corpus::entries()
        .flat_map(|entry| entry.evidence)
        .filter_map(|evidence| if let Evidence::Test(name) = evidence { Some(*name) } else { None })
        .collect();
    for guest in names("tests/guests/examples").iter().filter(|name| name.starts_with("hostile_")) {
        let guest = guest.as_str();
        // One guest may have several tests: `hostile_disk_filler_with_files`.
        let tested = known.contains(guest) || tests.iter().any(|test| test.starts_with(guest));
        assert!(tested, "no entry of the corpus names the guest {guest}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_corpus_in_sequence_stays_within_768_mib() {
    containment::all_in_sequence().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_ends_with_the_default_limits() {
    let server = Server::builder().guest("polite").guest("hostile_loop_in_call").start().await;
    let client = Client::new(server.url());
    let begun = Instant::now();
    let reply = client.call("hostile_loop_in_call-spin", json!({})).await;
    let told = reply.tool_error();
    // Which limit comes first depends on the machine.
    assert!(
        told.contains("2000000000 units of fuel (limit `fuel`)") || told.contains("1000 ms (limit `cpu_ms`)"),
        "{told}"
    );
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(client.call("hostile_loop_in_call-ok", json!({})).await.tool_text(), "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_cut_and_counted() {
    // Without optimization it takes longer than a call may by default.
    let config = "[plugins.hostile_log_flood]\nlimits = { cpu_ms = 20_000 }\n";
    let server = Server::builder().guest("hostile_log_flood").config(config).start().await;
    let client = Client::new(server.url());
    let reply = client.call("hostile_log_flood-flood", json!({ "bytes": 600_000 })).await;
    assert_eq!(reply.tool_text(), "flooded", "a flood is cut, it does not trap");
    server.wait_for_log("log output was dropped (limit `log_kib`)").await;
    assert!(server.log().len() < 2 << 20, "{} bytes of log", server.log().len());
    client.call("hostile_log_flood-forge", json!({})).await;
    assert!(!server.log().contains('\u{1b}'), "a terminal sequence got through");
}

/// The progress notifications of a call to the guest that floods with progress: the `progress` and the `total` of each.
async fn progress_of(tool: &str) -> Vec<(f64, Value)> {
    let server = Server::builder().guest("hostile_progress_flood").start().await;
    let client = Client::new(server.url());
    let params =
        json!({ "name": format!("hostile_progress_flood-{tool}"), "arguments": { "steps": 20_000 } });
    let reply = client.request_with_meta("tools/call", params, json!({ "progressToken": "t" })).await;
    assert_eq!(reply.tool_text(), "told");
    let heard = reply.notifications("notifications/progress").into_iter().map(|message| &message["params"]);
    heard
        .map(|params| {
            assert_eq!(params["progressToken"], "t", "{params}");
            (params["progress"].as_f64().unwrap(), params["total"].clone())
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_only_grows_and_only_so_often() {
    let begun = Instant::now();
    let heard = progress_of("flood").await;
    let max = 11 + (begun.elapsed().as_secs_f64() * 10.0).ceil() as u64;
    assert!(heard.len() > 1 && heard.len() as u64 <= max, "{} in {:?}", heard.len(), begun.elapsed());
    assert!(heard.is_sorted_by(|(a, _), (b, _)| a < b), "{heard:?}");
    assert!(heard.iter().all(|(_, total)| *total == 20_000.0), "{heard:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_that_goes_back_or_is_no_number_is_not_sent() {
    assert_eq!(progress_of("back").await, [(19_999.0, json!(20_000.0))]);
    assert_eq!(progress_of("nothing").await, [(1.0, Value::Null)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_gets_a_few_requests_however_often_a_guest_asks() {
    let grants = "[plugins.hostile_sampling_flood.grants]\nsampling = true\nelicitation = true\n";
    let server = Server::builder().guest("hostile_sampling_flood").config(grants).start().await;
    let capabilities = json!({ "sampling": {}, "elicitation": {} });
    let session = Client::new(server.url()).session_with("2025-11-25", capabilities).await;
    for (tool, method, response) in [
        (
            "model",
            "sampling/createMessage",
            json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "a" } }),
        ),
        ("person", "elicitation/create", json!({ "action": "decline" })),
    ] {
        let params =
            json!({ "name": format!("hostile_sampling_flood-{tool}"), "arguments": { "times": 10_000 } });
        let mut stream = session.stream(json!(tool), "tools/call", params).await;
        let mut requests = 0;
        let last = loop {
            let message: Value = stream.message().await;
            if message["method"] != method {
                break message;
            }
            requests += 1;
            session.respond(&message, response.clone()).await;
        };
        assert_eq!(requests, 8, "client requests by {tool}");
        let text = last["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{last}"));
        assert!(text.contains("over budget 99"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_asks_for_a_password_is_for_the_client_to_judge() {
    let grants = "[plugins.hostile_sampling_flood.grants]\nelicitation = true\n";
    let server = Server::builder().guest("hostile_sampling_flood").config(grants).start().await;
    let session = Client::new(server.url()).session_with("2025-11-25", json!({ "elicitation": {} })).await;
    let params = json!({ "name": "hostile_sampling_flood-password", "arguments": {} });
    let mut stream = session.stream(json!(1), "tools/call", params).await;
    let client_request = stream.message().await;
    assert_eq!(client_request["method"], "elicitation/create");
    // The client gets the whole form and decides about it.
    let properties = &client_request["params"]["requestedSchema"]["properties"];
    assert_eq!(*properties, json!({ "password": { "type": "string" } }), "{client_request}");
    session.respond(&client_request, json!({ "action": "decline" })).await;
    let last = stream.message().await;
    assert_eq!(last["result"]["content"][0]["text"], "answered 1", "it is asked once: {last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_host_is_within_reach() {
    let server = Server::builder().guest("hostile_host_probe").env("PLUGPORT_PROBED", "x").start().await;
    let file = server.folder().join("hostile_host_probe.wasm");
    let port: u16 = server.url().split([':', '/']).find_map(|part| part.parse().ok()).unwrap();
    let arguments = json!({ "file": file, "port": port, "variable": "PLUGPORT_PROBED" });
    let reply = Client::new(server.url()).call("hostile_host_probe-reach", arguments).await;
    assert_eq!(reply.tool_text(), "reached: ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_in_the_log_with_its_backtrace() {
    let server = Server::builder().guest("hostile_panic").start().await;
    let reply = Client::new(server.url()).call("hostile_panic-boom", json!({ "message": "kaboom" })).await;
    assert!(reply.tool_error().contains("it panicked or aborted"), "{reply:?}");
    server.wait_for_log("kaboom").await;
    server.wait_for_log("wasm backtrace").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_so_many_tools_are_published() {
    let names = containment::Source::Variant("hostile_names", 5);
    let server = Server::builder().file("names.wasm", &names.bytes()).start().await;
    server.wait_for_log("a plugin may have 256 tools (limit `tools`)").await;
    assert!(server.log().len() < 64 << 10, "{} bytes of log", server.log().len());
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_schemas_end_a_call_in_words() {
    let names = |variant| containment::Source::Variant("hostile_schemas", variant).bytes();
    let server = Server::builder()
        .file("round.wasm", &names(2))
        .file("dear.wasm", &names(3))
        .file("words.wasm", &names(4))
        .start()
        .await;
    let client = Client::new(server.url());
    let deceiving = format!("{}!", "a".repeat(100_000));
    for tool in ["round-self", "round-mutual", "dear-tower", "dear-backtrack"] {
        let begun = Instant::now();
        let reply = client.call(tool, json!({ "a": deceiving })).await;
        assert!(begun.elapsed() < Duration::from_secs(5), "{tool} took {:?}", begun.elapsed());
        assert!(reply.text.len() < 4_096, "{tool}: {}", reply.text);
    }
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed.result()["tools"].as_array().unwrap();
    let twin = tools.iter().find(|tool| tool["name"] == "words-twin").expect("it keeps its name");
    assert_eq!(twin["inputSchema"], json!({ "type": "object" }));
    assert!(!listed.text.contains("shell-run\""), "a plugin named a tool as it may not");
}
