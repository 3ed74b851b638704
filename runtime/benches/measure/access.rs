//! Measures what access costs a call, in one run: `POST /mcp` without a socket, without `[auth]`, with a static token,
//! with a token of an authorization server that was verified before, with roles, and with a role that has a quota.
//!
//! The cases take turns, a thousand calls each, so that a machine that becomes slower becomes slower for all. The
//! figures are the fastest round of each case, which the rest of the machine disturbed least, and the median of the
//! rounds. What counts is the difference to the first case.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::support::http::InProcess;
use crate::support::in_process::{BenchFn as _, runtime, thread_cpu};
use crate::support::{guest_file, server_with_access};
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use plugport::transport::http::router;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use sha2::{Digest as _, Sha256};

const ROUNDS: usize = 60;
const CALLS: usize = 1_000;

const STATIC: &str = "plugport_0123456789abcdefghijklmnopqrstuvwxyz012345";

/// A role with a quota that no round uses up.
const LIMITED: &str = "[roles.limited]\nwho = [\"token:ci\"]\nallow = [\"*\"]\n\
                       quota = { calls_per_minute = 1e6, calls_per_day = 1e9, concurrent = 8, fuel_per_hour = 1e15 }\n";

const ISSUER: &str = "https://idp.example.com";
const RESOURCE: &str = "https://tools.example.com/mcp";

pub fn run() {
    let guest = guest_file("access");
    let folder = std::env::temp_dir().join(format!("plugport-bench-access-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let jwt = signed_token(&folder);
    let digest = HEXLOWER.encode(&Sha256::digest(STATIC.as_bytes()));
    let auth = format!(
        "[auth]\nresource = \"{RESOURCE}\"\n[[auth.tokens]]\nname = \"ci\"\nsha256 = \"{digest}\"\ngroups = [\"g3\"]\n\
         [[auth.issuers]]\nissuer = \"{ISSUER}\"\njwks = {{ file = \"keys.json\" }}\n"
    );
    let roles: String = (0..5).map(role).collect();
    let cases = [
        ("without [auth]", String::new(), None),
        ("static token", auth.clone(), Some(STATIC)),
        ("token of an issuer, verified before", auth.clone(), Some(&*jwt)),
        ("static token, five roles of twenty patterns", format!("{auth}{roles}"), Some(STATIC)),
        ("static token, one role with a quota", format!("{auth}{LIMITED}"), Some(STATIC)),
    ];
    runtime().block_on(async {
        let mut subjects = Vec::new();
        for (_, text, token) in &cases {
            subjects.push(subject(&guest, &folder, text, *token).await);
        }
        let mut times = vec![Vec::new(); cases.len()];
        for _ in 0..ROUNDS {
            for (subject, times) in subjects.iter_mut().zip(&mut times) {
                let begun = thread_cpu();
                for _ in 0..CALLS {
                    subject.once().await;
                }
                times.push((thread_cpu() - begun) / CALLS as f64 * 1e6);
            }
        }
        times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        let figures = |times: &Vec<f64>| (times[0], times[times.len() / 2]);
        let (first_fastest, first_median) = figures(&times[0]);
        println!(
            "{:<48}{:>12}{:>10}{:>12}{:>10}",
            "POST /mcp without a socket, CPU µs", "fastest", "more", "median", "more"
        );
        for ((name, ..), times) in cases.iter().zip(&times) {
            let (fastest, median) = figures(times);
            let (more, more_median) = (fastest - first_fastest, median - first_median);
            println!("{name:<48}{fastest:>12.2}{more:>10.2}{median:>12.2}{more_median:>10.2}");
        }
    });
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A role with twenty patterns, which the holder of the static token has.
fn role(number: usize) -> String {
    let patterns: Vec<String> = (0..19).map(|at| format!("\"other{at}-*\"")).collect();
    let who = "who = [\"group:g1\", \"group:g2\", \"token:ci\"]";
    format!("[roles.r{number}]\n{who}\nallow = [{}, \"*\"]\n", patterns.join(", "))
}

async fn subject(guest: &Path, folder: &Path, config: &str, token: Option<&str>) -> InProcess {
    let server = server_with_access(guest, folder, config).await;
    let subject = InProcess::new(async || router(Arc::new(server))).await;
    match token {
        Some(token) => subject.with_token(token),
        None => subject,
    }
}

/// Writes a key set, and returns a token that one of its keys signed.
fn signed_token(folder: &Path) -> String {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
    let point = key.public_key().as_ref();
    let [x, y] = [&point[1..33], &point[33..65]].map(|half| BASE64URL_NOPAD.encode(half));
    let keys = format!(
        r#"{{"keys":[{{"kty":"EC","crv":"P-256","use":"sig","alg":"ES256","kid":"k","x":"{x}","y":"{y}"}}]}}"#
    );
    std::fs::write(folder.join("keys.json"), keys).unwrap();
    let expires = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() + 3_600;
    let header = BASE64URL_NOPAD.encode(br#"{"alg":"ES256","typ":"at+jwt","kid":"k"}"#);
    let claims = format!(
        r#"{{"iss":"{ISSUER}","aud":"{RESOURCE}","sub":"ada","client_id":"chat","scope":"tools","exp":{expires}}}"#
    );
    let signed = format!("{header}.{}", BASE64URL_NOPAD.encode(claims.as_bytes()));
    let signature = key.sign(&random, signed.as_bytes()).unwrap();
    format!("{signed}.{}", BASE64URL_NOPAD.encode(signature.as_ref()))
}
