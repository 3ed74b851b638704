//! Reads its configuration values and secrets, and prints the secrets.

use std::io::{self, Write as _};

use plugport_sdk::prelude::*;
use plugport_sdk::{config, serde_json::json};

/// Tell the value of a key.
#[tool(read_only)]
fn get(key: String) -> Result<String, Error> {
    Ok(config::get(&key)?.unwrap_or_else(|| "none".to_owned()))
}

/// Tell every key that is listed, with its value.
#[tool(read_only)]
fn all() -> Result<String, Error> {
    let all = config::all()?.into_iter().map(|(key, value)| format!("{key}={value}"));
    Ok(all.collect::<Vec<_>>().join(" "))
}

/// Let the secret of this key slip in a certain way.
#[tool]
fn leak(call: &Call, key: String, way: String) -> Result<String, Error> {
    let secret = config::require(&key)?;
    let (begin, end) = secret.split_at(secret.len() / 2);
    match way.as_str() {
        "stdout" => println!("out {secret} out"),
        "stderr" => eprintln!("err {secret} err"),
        "pieces" => {
            // Each of these is a write of its own.
            let mut stream = io::stderr();
            for piece in ["in pieces ", begin, end, "\n"] {
                stream
                    .write_all(piece.as_bytes())
                    .and_then(|()| stream.flush())
                    .map_err(|_| Error::Cancelled)?;
            }
        }
        "across the cut" => eprintln!("{}{secret}", "x".repeat(4_096 - begin.len())),
        "unfinished" => eprint!("no end of line {secret}"),
        "debug" => eprintln!("{:?}", [&secret]),
        "log" => call.warning(format!("log {secret} log")),
        "json" => call.log(
            Level::Warning,
            json!({ "headers": { "authorization": [format!("Bearer {secret}")] }, &secret: 1 }),
        ),
        "long log" => call.warning(format!("{}{secret}", "x".repeat(4_095 - begin.len()))),
        "progress" => call.progress(1.0, None, format!("using {secret}").as_str()),
        "error" => return Err(Error::Internal(format!("401 for {secret}"))),
        "panic" => panic!("cannot use {secret}"),
        "unknown key" => drop(config::get(&secret)?),
        "result" => return Ok(secret),
        _ => return Err(Error::InvalidParams(format!("there is no way `{way}`"))),
    }
    Ok("slipped".to_owned())
}

plugport_sdk::export! { tools: [get, all, leak] }
