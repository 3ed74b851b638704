//! Measures what access costs a call, in one run: `POST /mcp` without a socket, without `[auth]`, with a static token,
//! with a token of an authorization server that was verified before, with roles, and with a role that has a quota.
//!
//! The cases take turns, a thousand calls each, so that a machine that becomes slower becomes slower for all. The
//! figures are the fastest round of each case, which the rest of the machine disturbed least, and the median of the
//! rounds. What counts is the median of the differences to another case, each within one round; it stands beside the
//! aim. Tokens are compared with the first case, and roles with the static token alone.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::support::http::InProcess;
use crate::support::in_process::{BenchFn as _, runtime, thread_cpu};
use crate::support::{guest_file, quantile, server_with_access, verdict};
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

/// What a case measures.
struct Case<'c> {
    name: &'static str,
    config: String,
    token: Option<&'c str>,
    /// The place of the case that this one is compared with.
    base: usize,
    /// How many µs of processor time more than that case a call should take at most.
    aim: Option<f64>,
}

/// The places of cases that others are compared with.
const WITHOUT_AUTH: usize = 0;
const STATIC_TOKEN: usize = 1;

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
    let case = |name, config, token, base, aim| Case { name, config, token, base, aim };
    let (with_roles, limited) = (format!("{auth}{roles}"), format!("{auth}{LIMITED}"));
    let cases = [
        case("without [auth]", String::new(), None, WITHOUT_AUTH, None),
        case("static token", auth.clone(), Some(STATIC), WITHOUT_AUTH, Some(1.0)),
        case("token of an issuer, verified before", auth.clone(), Some(&*jwt), WITHOUT_AUTH, Some(2.0)),
        case(
            "static token, five roles of twenty patterns",
            with_roles,
            Some(STATIC),
            STATIC_TOKEN,
            Some(1.0),
        ),
        case("static token, one role with a quota", limited, Some(STATIC), STATIC_TOKEN, None),
    ];
    runtime().block_on(async {
        let mut subjects = Vec::new();
        for case in &cases {
            subjects.push(subject(&guest, &folder, &case.config, case.token).await);
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
        print(&cases, &times);
    });
    std::fs::remove_dir_all(&folder).unwrap();
}

fn print(cases: &[Case<'_>], times: &[Vec<f64>]) {
    println!(
        "{:<48}{:>9}{:>9}{:>9}{:>9}",
        "POST /mcp without a socket, CPU µs", "fastest", "median", "more", "aim"
    );
    for (Case { name, base, aim, .. }, rounds) in cases.iter().zip(times) {
        let differences = rounds.iter().zip(&times[*base]).map(|(time, base)| time - base);
        let more = quantile(differences.collect(), 0.5);
        let (fastest, median) = (quantile(rounds.clone(), 0.0), quantile(rounds.clone(), 0.5));
        println!("{name:<48}{fastest:>9.2}{median:>9.2}{more:>9.2}{}", verdict(more, *aim));
    }
    println!("more than without [auth]; for roles and the quota, more than the static token alone");
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
