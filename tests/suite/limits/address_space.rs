//! The server reserves addresses for all instances that it may have at once.
//!
//! It reserves them in one piece. Linux loads a program at two thirds of its 128 TiB of addresses, or a random distance
//! above, so a larger piece would fit only if that distance is long enough.

use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::json;

/// Each is the largest value that its key takes.
const LARGEST: &str =
    "[server]\nconcurrent_calls = 900\nsuspended_calls = 10_000\ntasks = 10_000\nidle_instances = 100\n";

/// Two thirds of the addresses of a process on x86-64.
const BELOW_THE_PROGRAM: u64 = 0x5555_5555_4000;

/// The length of the longest piece of addresses without a gap, from the text of `/proc/PID/maps`.
fn longest_piece(maps: &str) -> u64 {
    let address = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let (mut begin, mut end, mut longest) = (0, 0, 0);
    for line in maps.lines() {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        if address(from) != end {
            begin = address(from);
        }
        end = address(to);
        longest = longest.max(end - begin);
    }
    longest
}

#[tokio::test]
async fn the_largest_server_that_may_be_configured_has_an_engine() {
    let server = Server::builder().guest("polite").config(LARGEST).start().await;
    let client = Client::new(server.url());
    assert_eq!(client.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
    if cfg!(target_arch = "x86_64") {
        let reserved =
            longest_piece(&std::fs::read_to_string(format!("/proc/{}/maps", server.pid())).unwrap());
        assert!(reserved > 80 << 40, "{reserved:#x} is not the pool of instances");
        assert!(reserved < BELOW_THE_PROGRAM, "{reserved:#x} bytes fit by chance only");
    }
}

#[test]
fn a_piece_has_no_gap() {
    let maps = "1000-3000 r--p 0 00:00 0\n3000-8000 rw-p 0 00:00 0\n9000-a000 r--p 0 00:00 0 /lib\n";
    assert_eq!(longest_piece(maps), 0x7000);
}
