//! `plugport token`: makes tokens for `[[auth.tokens]]`, and explains why a token is refused.

use std::io::Read as _;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use sha2::{Digest as _, Sha256};
use toml::Value;
use zeroize::Zeroizing;

use super::{CommandError, console};
use crate::access::{Authenticator, Principal, TokenBinding};
use crate::cli;
use crate::config::{MAX_PRINCIPAL_NAME, StaticToken, TOKEN_PREFIX, is_principal_name};
use crate::observe::Audit;

/// Random bytes in a token.
const TOKEN_BYTES: usize = 32;

/// Longest token that is read, bytes.
const MAX_TOKEN: u64 = 64 << 10;

pub(super) async fn run(args: cli::Token) -> Result<ExitCode, CommandError> {
    match args.command {
        cli::TokenCommand::New(args) => create(&args),
        cli::TokenCommand::Check(args) => check(&args).await,
    }
}

/// Prints a new token on stdout, and what belongs into the configuration on stderr.
fn create(args: &cli::NewToken) -> Result<ExitCode, CommandError> {
    if let Some(name) = args.group.iter().chain([&args.name]).find(|name| !is_principal_name(name)) {
        let why = format!(
            "`{}` is no name; write 1 to {MAX_PRINCIPAL_NAME} bytes without hidden characters, and without spaces \
             at its ends",
            name.escape_debug()
        );
        return Err(CommandError::Usage(anyhow!(why)));
    }
    if let Some(scope) = args.scope.iter().find(|scope| !StaticToken::is_scope(scope)) {
        let why =
            format!("`{}` is no scope; write one word of visible ASCII without quotes", scope.escape_debug());
        return Err(CommandError::Usage(anyhow!(why)));
    }
    let mut bytes = Zeroizing::new([0; TOKEN_BYTES]);
    getrandom::fill(&mut *bytes).map_err(|error| anyhow!("the system has no randomness: {error}"))?;
    let token = Zeroizing::new(format!("{TOKEN_PREFIX}{}", BASE64URL_NOPAD.encode(&*bytes)));
    console::print(&token);
    let digest = HEXLOWER.encode(&Sha256::digest(token.as_bytes()));
    let mut section = format!("[[auth.tokens]]\nname = {}\nsha256 = \"{digest}\"\n", quoted(&args.name));
    for (key, values) in [("groups", &args.group), ("scopes", &args.scope)] {
        if !values.is_empty() {
            let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            section += &format!("{key} = [{}]\n", values.join(", "));
        }
    }
    if let Some(until) = &args.until {
        section += &format!("until = {until}\n");
    }
    console::eprint(&format!(
        "# This token is shown once; give it to {} and add to plugport.toml:\n\n{section}",
        args.name
    ));
    Ok(ExitCode::SUCCESS)
}

/// A text as TOML.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Reads a token from stdin, so that it is in no shell's history, and says whose it is or why it is refused.
async fn check(args: &cli::CheckToken) -> Result<ExitCode, CommandError> {
    let config = args.source.configuration()?;
    let Some(auth) = &config.auth else {
        let why = "the configuration has no [auth], so no token is needed; `plugport token new NAME` prints a section";
        return Err(CommandError::Usage(anyhow!(why)));
    };
    let mut text = Zeroizing::new(String::new());
    std::io::stdin()
        .lock()
        .take(MAX_TOKEN)
        .read_to_string(&mut text)
        .context("cannot read the token from stdin")?;
    let authenticator = Authenticator::new(Some(auth), Audit::disabled());
    match authenticator.inspect(text.trim()).await {
        Ok(Some((principal, binding))) => {
            console::print(&description(&principal));
            for sentence in binding_sentences(binding) {
                console::print(sentence);
            }
            Ok(ExitCode::SUCCESS)
        }
        Ok(None) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            console::eprint(&format!("refused: {error}"));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// What a client has to show with the token.
fn binding_sentences(binding: TokenBinding) -> impl Iterator<Item = &'static str> {
    let key = "the token is bound to a key; the server will ask for a proof (DPoP) with each request";
    let certificate =
        "the token is bound to a client certificate; the server will ask for it in the handshake";
    let sentences = [(binding.has_key(), key), (binding.has_certificate(), certificate)];
    sentences.into_iter().filter(|(is_bound, _)| *is_bound).map(|(_, sentence)| sentence)
}

fn description(principal: &Principal) -> String {
    let list = |names: &[Box<str>]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let expires = match principal.expires {
        Some(expires) => humantime::format_rfc3339_seconds(expires).to_string(),
        None => "never".to_owned(),
    };
    let client = principal.client.as_deref().unwrap_or("none");
    format!(
        "principal  {}\nclient     {client}\ngroups     {}\nscopes     {}\nexpires    {expires}",
        principal.id,
        list(&principal.groups),
        list(&principal.scopes)
    )
}
