//! Calls every host function that takes a text, as expensively as its arguments allow.

use wasip2::filesystem::types::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};
use wasip2::http::types::{Fields, Method, OutgoingRequest, Scheme};
use wasip2::sockets::{instance_network::instance_network, ip_name_lookup::resolve_addresses};

use crate::raw::plugport::plugin::request::LogLevel;
use crate::raw::plugport::plugin::{elicitation, inputs, roots, sampling};
use crate::raw::{Call, Listing, list_changed, resource_updated};

mod keyvalue {
    wit_bindgen::generate!({ path: "../../wit", world: "keyvalue", generate_all });
    pub(super) use wasi::keyvalue::{atomics, batch, store};
}

mod settings {
    wit_bindgen::generate!({ path: "../../wit", world: "config", generate_all });
    pub(super) use wasi::config::store;
}

/// The objects that the functions use and make. They are held for a while, so that the host holds its side too.
pub struct HostFunctions<'a> {
    call: &'a Call,
    fields: Fields,
    folder: Option<Descriptor>,
    bucket: Option<keyvalue::store::Bucket>,
    requests: Vec<OutgoingRequest>,
    swaps: Vec<keyvalue::atomics::Cas>,
}

/// A function of the host, called with this text in it.
pub type Function = fn(&mut HostFunctions<'_>, &str);

impl<'a> HostFunctions<'a> {
    pub fn new(call: &'a Call) -> Self {
        let folder = wasip2::filesystem::preopens::get_directories().into_iter().next();
        Self {
            call,
            fields: Fields::new(),
            folder: folder.map(|(folder, _)| folder),
            bucket: keyvalue::store::open("").ok(),
            requests: Vec::new(),
            swaps: Vec::new(),
        }
    }

    /// The functions of this name, or all.
    pub fn functions(name: &str) -> Vec<Function> {
        let fitting = FUNCTIONS.iter().filter(|(known, _)| name.is_empty() || *known == name);
        fitting.map(|(_, function)| *function).collect()
    }

    /// The names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FUNCTIONS.iter().map(|(name, _)| *name)
    }

    fn path(&self, what: impl FnOnce(&Descriptor)) {
        if let Some(folder) = &self.folder {
            what(folder);
        }
    }

    fn store(&self, what: impl FnOnce(&keyvalue::store::Bucket)) {
        if let Some(bucket) = &self.bucket {
            what(bucket);
        }
    }

    fn request(&mut self, what: impl FnOnce(&OutgoingRequest)) {
        let request = OutgoingRequest::new(Fields::new());
        what(&request);
        self.requests.push(request);
        if self.requests.len() > 100 {
            self.requests.clear();
        }
    }
}

/// The result does not matter: `drop` is for results that own something.
fn ignore<T>(_: T) {}

const FUNCTIONS: &[(&str, Function)] = &[
    ("resolve", |_, text| drop(resolve_addresses(&instance_network(), text))),
    ("fields-has", |at, text| _ = at.fields.has(text)),
    ("fields-get", |at, text| drop(at.fields.get(text))),
    ("fields-append", |at, text| _ = at.fields.append(text, b"value")),
    ("fields-append-value", |at, text| _ = at.fields.append("x-long", text.as_bytes())),
    ("fields-set", |at, text| _ = at.fields.set(text, &[b"value".to_vec()])),
    ("fields-set-value", |at, text| _ = at.fields.set("x-long", &[text.as_bytes().to_vec()])),
    ("fields-delete", |at, text| _ = at.fields.delete(text)),
    ("fields-from-list", |_, text| drop(Fields::from_list(&[(text.to_owned(), text.into())]))),
    ("fields-entries", |at, _| drop(at.fields.entries())),
    ("fields-clone", |at, _| drop(at.fields.clone())),
    ("set-method", |at, text| at.request(|it| _ = it.set_method(&Method::Other(text.to_owned())))),
    ("set-scheme", |at, text| at.request(|it| _ = it.set_scheme(Some(&Scheme::Other(text.to_owned()))))),
    ("set-authority", |at, text| at.request(|it| _ = it.set_authority(Some(text)))),
    ("set-path-with-query", |at, text| at.request(|it| _ = it.set_path_with_query(Some(text)))),
    ("log", |at, text| at.call.log(LogLevel::Info, None, &quoted(text))),
    ("log-logger", |at, text| at.call.log(LogLevel::Error, Some(text), "1")),
    ("log-json", |at, text| at.call.log(LogLevel::Info, None, &nested(text))),
    ("progress", |at, text| at.call.progress(1.0, None, Some(text))),
    ("meta", |at, _| drop(at.call.meta())),
    ("client", |at, _| drop(at.call.client())),
    ("sampling", |at, text| drop(sampling::create_message(at.call, None, &message(text)))),
    ("sampling-key", |at, text| drop(sampling::create_message(at.call, Some(text), &message("q")))),
    ("elicitation", |at, text| drop(elicitation::elicit(at.call, None, &form(text)))),
    ("elicitation-many", |at, text| drop(elicitation::elicit(at.call, None, &many(text)))),
    ("elicitation-choices", |at, text| drop(elicitation::elicit(at.call, None, &choices(text)))),
    ("roots-key", |at, text| drop(roots::list_roots(at.call, Some(text)))),
    ("request-inputs", |at, text| drop(inputs::request_inputs(at.call, &input_requests(text)))),
    ("resource-updated", |_, text| resource_updated(text)),
    ("list-changed", |_, _| list_changed(Listing::Tools)),
    ("config-get", |_, text| drop(settings::store::get(text))),
    ("config-all", |_, _| drop(settings::store::get_all())),
    ("kv-open", |_, text| drop(keyvalue::store::open(text))),
    ("kv-get", |at, text| at.store(|store| drop(store.get(text)))),
    ("kv-set", |at, text| at.store(|store| drop(store.set(text, b"value")))),
    ("kv-set-value", |at, text| at.store(|store| drop(store.set("key", text.as_bytes())))),
    ("kv-exists", |at, text| at.store(|store| drop(store.exists(text)))),
    ("kv-delete", |at, text| at.store(|store| drop(store.delete(text)))),
    ("kv-list", |at, _| at.store(|store| drop(store.list_keys(None)))),
    ("kv-increment", |at, text| at.store(|store| drop(keyvalue::atomics::increment(store, text, 1)))),
    ("kv-cas", cas),
    ("kv-get-many", |at, text| {
        at.store(|store| drop(keyvalue::batch::get_many(store, &vec![text.to_owned(); 4])))
    }),
    ("kv-set-many", |at, text| {
        at.store(|store| {
            drop(keyvalue::batch::set_many(store, &vec![(text.to_owned(), b"value".to_vec()); 4]))
        });
    }),
    ("kv-delete-many", |at, text| {
        at.store(|store| drop(keyvalue::batch::delete_many(store, &vec![text.to_owned(); 4])));
    }),
    ("open-at", |at, text| {
        at.path(|it| ignore(it.open_at(PathFlags::empty(), text, OpenFlags::CREATE, DescriptorFlags::READ)));
    }),
    ("stat-at", |at, text| at.path(|it| ignore(it.stat_at(PathFlags::SYMLINK_FOLLOW, text)))),
    ("create-directory-at", |at, text| at.path(|it| ignore(it.create_directory_at(text)))),
    ("readlink-at", |at, text| at.path(|it| ignore(it.readlink_at(text)))),
    ("symlink-at", |at, text| at.path(|it| ignore(it.symlink_at(text, "link")))),
    ("rename-at", |at, text| at.path(|it| ignore(it.rename_at(text, it, text)))),
    ("link-at", |at, text| at.path(|it| ignore(it.link_at(PathFlags::empty(), text, it, text)))),
    ("unlink-file-at", |at, text| at.path(|it| ignore(it.unlink_file_at(text)))),
    ("remove-directory-at", |at, text| at.path(|it| ignore(it.remove_directory_at(text)))),
    ("metadata-hash-at", |at, text| at.path(|it| ignore(it.metadata_hash_at(PathFlags::empty(), text)))),
    ("print", |_, text| println!("{text}")),
    ("print-error", |_, text| eprint!("{text}")),
];

/// Holds the handles, for which the host holds the keys.
fn cas(at: &mut HostFunctions<'_>, text: &str) {
    let made = at.bucket.as_ref().and_then(|bucket| keyvalue::atomics::Cas::new(bucket, text).ok());
    at.swaps.extend(made);
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace(['"', '\\'], "'"))
}

/// An array of small things, as large as the text.
fn nested(text: &str) -> String {
    format!("[{}0]", "[0],".repeat(text.len() / 4))
}

fn message(text: &str) -> String {
    let text = quoted(text);
    format!(r#"{{"maxTokens":9,"messages":[{{"role":"user","content":{{"type":"text","text":{text}}}}}]}}"#)
}

fn form(text: &str) -> String {
    let text = quoted(text);
    format!(
        r#"{{"message":{text},"requestedSchema":{{"type":"object","properties":{{"a":{{"type":"string"}}}}}}}}"#
    )
}

/// A form with one field of many choices.
fn choices(text: &str) -> String {
    field(&format!(r#"{{"type":"string","enum":[{}]}}"#, names(text)))
}

/// The same with a multiple choice.
fn many(text: &str) -> String {
    field(&format!(r#"{{"type":"array","items":{{"type":"string","enum":[{}]}}}}"#, names(text)))
}

/// Different texts in JSON, about as long as this one together.
fn names(text: &str) -> String {
    let all: Vec<String> = (0..text.len() / 10).map(|number| format!("\"c{number}\"")).collect();
    all.join(",")
}

fn field(schema: &str) -> String {
    format!(r#"{{"message":"m","requestedSchema":{{"type":"object","properties":{{"a":{schema}}}}}}}"#)
}

fn input_requests(text: &str) -> Vec<inputs::InputRequest> {
    let body = |at: u32| match at % 3 {
        0 => inputs::Body::CreateMessage(message(text)),
        1 => inputs::Body::Elicit(form(text)),
        _ => inputs::Body::ListRoots,
    };
    (0..6)
        .map(|at| inputs::InputRequest {
            key: format!("{at}{}", &text[..text.len().min(100)]),
            body: body(at),
        })
        .collect()
}
