//! The client of `plugport call`: responds to client requests with what the user wrote on the command line.
//!
//! Requests are worded and responses checked as for a client of the newest revision. It has the capabilities for which
//! there is a response, so that a plugin does without a client as it would in a server. A request without a response is
//! shown with the option that would give one.

use std::collections::VecDeque;
use std::future::ready;
use std::path::Path;

use anyhow::anyhow;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::super::{CommandError, console, json_option};
use crate::call_env::{
    Caller, Client, ClientInfo, ClientRequest, ClientRequestBody, ClientRequestError, ClientResponses,
    LogLevel,
};
use crate::cli;
use crate::mcp::{ClientCapabilities, InputRequest, Revision, prepare_input_request};
use crate::observe::{shell_quote, truncate};

/// Longest part of a client request that is shown, bytes.
const MAX_SHOWN: usize = 300;

/// The JSON-RPC code of a request that the client cannot respond to.
const FAILED: i32 = -32603;

/// The responses of the command line. Each is used once, but for roots.
pub(super) struct AnsweringClient {
    capabilities: ClientCapabilities,
    /// The content of one form each.
    forms: Mutex<VecDeque<Value>>,
    /// Whether further forms are declined.
    declines: bool,
    /// The texts of a model.
    texts: Mutex<VecDeque<String>>,
    /// The result of `roots/list`.
    roots: Value,
}

impl AnsweringClient {
    pub(super) fn new(args: &cli::Call) -> Result<Self, CommandError> {
        let content = |text: &String| json_option::object("--accept", text, r#"{"name":"Ada"}"#);
        let forms: VecDeque<Value> = args.accept.iter().map(content).collect::<Result<_, _>>()?;
        let roots: Vec<Value> = args.root.iter().map(|path| root(path)).collect::<Result<_, _>>()?;
        let (elicitation, sampling) = (args.decline || !forms.is_empty(), !args.sample.is_empty());
        let capabilities = ClientCapabilities {
            extensions: false,
            sampling,
            sampling_tools: sampling,
            elicitation_form: elicitation,
            elicitation_url: elicitation,
            roots: !roots.is_empty(),
            tasks: false,
        };
        Ok(Self {
            capabilities,
            forms: Mutex::new(forms),
            declines: args.decline,
            texts: Mutex::new(args.sample.iter().cloned().collect()),
            roots: json!({ "roots": roots }),
        })
    }

    fn respond(&self, request: ClientRequest) -> Result<String, ClientRequestError> {
        let body = request.body.clone();
        let prepared = prepare_input_request(request, 1, Revision::V2026_07_28, self.capabilities);
        if matches!(prepared, Err(ClientRequestError::Missing(_))) {
            show_unanswered(&body);
        }
        let prepared = prepared?;
        let Some(result) = self.result(&prepared) else {
            show_unanswered(&body);
            let option = option_for(body.capability()).unwrap_or_default();
            return Err(failed(format!("no response is left for this request; add one more {option}")));
        };
        let result = to_raw_value(&result).map_err(|error| failed(error.to_string()))?;
        prepared.read(&result).map_err(|why| failed(format!("the response cannot be used: {why}")))
    }

    /// The result of a client request; `None` if none is left.
    fn result(&self, request: &InputRequest) -> Option<Value> {
        match request.capability() {
            "sampling" => self.texts.lock().pop_front().map(|text| message(&text)),
            "roots" => Some(self.roots.clone()),
            capability => self.elicited(capability == "elicitation.url"),
        }
    }

    /// The result of a form, or of a page to open, which has no content.
    fn elicited(&self, is_page: bool) -> Option<Value> {
        match self.forms.lock().pop_front() {
            Some(_) if is_page => Some(json!({ "action": "accept" })),
            Some(content) => Some(json!({ "action": "accept", "content": content })),
            None => self.declines.then(|| json!({ "action": "decline" })),
        }
    }
}

impl Client for AnsweringClient {
    fn caller(&self) -> Caller {
        Caller::CommandLine
    }

    fn info(&self) -> ClientInfo {
        let ClientCapabilities { sampling, elicitation_form: elicitation, roots, .. } = self.capabilities;
        ClientInfo { sampling, elicitation, roots, ..ClientInfo::default() }
    }

    fn meta_size(&self) -> usize {
        0
    }

    fn meta(&self) -> Option<String> {
        None
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn local_roots(&self) -> BoxFuture<'_, Option<String>> {
        ready(self.capabilities.roots.then(|| self.roots.to_string())).boxed()
    }

    fn log(&self, _: LogLevel, _: Option<&str>, _: &RawValue) {}

    fn progress(&self, _: f64, _: Option<f64>, _: Option<&str>) {}

    fn send_requests(&self, requests: Vec<ClientRequest>) -> BoxFuture<'_, ClientResponses> {
        let responses: ClientResponses = requests.into_iter().map(|request| self.respond(request)).collect();
        ready(responses).boxed()
    }
}

/// The options that respond to client requests for which the client needs this capability.
pub(super) fn option_for(capability: &str) -> Option<&'static str> {
    match capability.split('.').next() {
        Some("sampling") => Some("--sample TEXT"),
        Some("elicitation") => Some("--accept JSON or --decline"),
        Some("roots") => Some("--root DIR"),
        _ => None,
    }
}

/// Shows a client request, and what responds to it.
fn show_unanswered(body: &ClientRequestBody) {
    let (asked, option) = match body {
        ClientRequestBody::CreateMessage(_) => {
            ("the client's model".to_owned(), "--sample 'a text of the model'".to_owned())
        }
        ClientRequestBody::Elicit(params) => form(params),
        ClientRequestBody::ListRoots => ("for the client's folders".to_owned(), "--root .".to_owned()),
    };
    console::eprint(&format!("the plugin asks {asked}; to respond, add {option}"));
}

/// What the user is asked, and an option with the fields of the form.
fn form(params: &str) -> (String, String) {
    let params: Value = serde_json::from_str(params).unwrap_or_default();
    let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
    let fields = params.pointer("/requestedSchema/properties").and_then(Value::as_object);
    let fields = fields.into_iter().flat_map(Map::keys).map(|name| format!("{}:\"...\"", json!(name)));
    let content = format!("{{{}}}", fields.collect::<Vec<_>>().join(","));
    let content = truncate(MAX_SHOWN, format_args!("{content}"));
    (
        truncate(MAX_SHOWN, format_args!("the user {message:?}")),
        format!("--accept {} or --decline", shell_quote(content)),
    )
}

fn failed(message: String) -> ClientRequestError {
    ClientRequestError::Failed { code: FAILED, message }
}

/// The result of `sampling/createMessage`.
fn message(text: &str) -> Value {
    json!({
        "role": "assistant",
        "model": "plugport call",
        "stopReason": "endTurn",
        "content": { "type": "text", "text": text },
    })
}

/// A root for a directory.
fn root(path: &Path) -> Result<Value, CommandError> {
    let usage = |why: String| {
        CommandError::Usage(anyhow!("--root {}: {why}; name a directory that exists", path.display()))
    };
    let whole = path.canonicalize().map_err(|error| usage(error.to_string()))?;
    if !whole.is_dir() {
        return Err(usage("it is no directory".to_owned()));
    }
    let name = whole.file_name().unwrap_or_default().to_string_lossy();
    Ok(json!({ "uri": file_uri(&whole), "name": name }))
}

fn file_uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_shown_with_its_fields() {
        let schema = json!({ "properties": { "a": {}, "it's": {} } });
        let params = json!({ "message": "Who?", "requestedSchema": schema });
        let (asked, option) = form(&params.to_string());
        assert_eq!(asked, "the user \"Who?\"");
        assert_eq!(option, r#"--accept '{"a":"...","it'\''s":"..."}' or --decline"#);
        assert_eq!(form("no JSON").1, "--accept '{}' or --decline");
    }

    #[test]
    fn a_path_becomes_a_uri_that_means_it() {
        assert_eq!(file_uri(Path::new("/a b/ü%/c-d_e.f~")), "file:///a%20b/%C3%BC%25/c-d_e.f~");
    }
}
