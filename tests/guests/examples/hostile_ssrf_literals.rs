//! Tries every spelling of every address that it must not reach.

use plugport_sdk::prelude::*;
use plugport_test_guests::http::get;
use wasip2::http::types::Scheme;

const HOSTS: &[&str] = &[
    "127.0.0.1",
    "127.0.0.2",
    "127.1",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[::ffff:169.254.169.254]",
    "0.0.0.0",
    "0",
    "2130706433",
    "0x7f.1",
    "0x7f000001",
    "0177.1",
    "0177.0.0.1",
    "127.0.0.1.",
    "169.254.169.254",
    "metadata.google.internal",
    "[fd00:ec2::254]",
    "100.64.0.1",
    "10.0.0.1",
    "192.168.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "user@127.0.0.1",
    "allowed.test@127.0.0.1",
];

/// Ask all of them, at this port and at the usual ones; one line for each that was not refused as it should be.
#[tool]
fn probe(port: u16) -> String {
    let mut lines = Vec::new();
    for host in HOSTS {
        for (scheme, name) in [(Scheme::Http, "http"), (Scheme::Https, "https")] {
            for authority in [(*host).to_owned(), format!("{host}:{port}")] {
                let outcome = match get(scheme.clone(), &authority, "/canary") {
                    Ok(response) => format!("status {}", response.status()),
                    Err(code) => code,
                };
                lines.push(format!("{name}://{authority} {outcome}"));
            }
        }
    }
    lines.join("\n")
}

/// Work as usual.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [probe, ok] }
