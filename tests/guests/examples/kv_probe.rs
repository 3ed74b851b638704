//! Uses the key-value store in every way, to find what another caller has stored. It writes while it lists, gives the
//! handle of its call back before it opens the store, and keeps handles from one call to the next.

use std::cell::RefCell;

use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult};
use serde_json::Value;

mod keyvalue {
    wit_bindgen::generate!({ path: "../../wit", world: "keyvalue", generate_all });
    pub(crate) use wasi::keyvalue::{atomics, batch, store};
}

use keyvalue::atomics::{self, Cas, CasError};
use keyvalue::batch;
use keyvalue::store::{self, Bucket};

const ANYTHING: &str = r#"{"type":"object"}"#;

thread_local! {
    static KEPT: RefCell<Option<(Bucket, Cas)>> = const { RefCell::new(None) };
}

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        let found = store::open("").and_then(|bucket| {
            bucket.set("listed", b"while listing")?;
            probe(&bucket, &[])
        });
        let mut probe = raw::tool("probe", ANYTHING);
        probe.description = Some(format!("Found: {found:?}"));
        let others = ["set", "set_many", "increment", "swap", "delete_many", "fill", "keep", "use_kept"];
        Ok([probe].into_iter().chain(others.iter().map(|name| raw::tool(name, ANYTHING))).collect())
    }

    fn call_tool(call: Call, name: String, args: String) -> Result<ToolResult, Error> {
        drop(call);
        let args: Value =
            serde_json::from_str(&args).map_err(|error| Error::InvalidParams(error.to_string()))?;
        let told = run(&name, &args).unwrap_or_else(|error| format!("{error:?}"));
        Ok(raw::text(&told))
    }
}

fn run(name: &str, args: &Value) -> Result<String, store::Error> {
    let text = |name: &str| args[name].as_str().unwrap_or_default();
    let (key, value) = (text("key"), text("value"));
    if name == "use_kept" {
        return use_kept();
    }
    let bucket = store::open("")?;
    match name {
        "set" => bucket.set(key, value.as_bytes()).map(|()| "set".to_owned()),
        "set_many" => {
            let entries = [(key.to_owned(), value.as_bytes().to_vec())];
            batch::set_many(&bucket, &entries).map(|()| "set".to_owned())
        }
        "increment" => atomics::increment(&bucket, key, 1).map(|sum| sum.to_string()),
        "swap" => swap(&bucket, key, value),
        "delete_many" => batch::delete_many(&bucket, &[key.to_owned()]).map(|()| "deleted".to_owned()),
        "fill" => Ok(fill(&bucket)),
        "keep" => {
            let cas = Cas::new(&bucket, key)?;
            KEPT.set(Some((bucket, cas)));
            Ok("kept".to_owned())
        }
        _ => probe(&bucket, &strings(&args["keys"])),
    }
}

fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Everything that can be found: all keys, and what lies behind these guesses, one after the other.
fn probe(bucket: &Bucket, guesses: &[String]) -> Result<String, store::Error> {
    let mut found = all_keys(bucket)?;
    let mut values: Vec<Vec<u8>> =
        batch::get_many(bucket, guesses)?.into_iter().flatten().map(|(_, value)| value).collect();
    for guess in guesses {
        values.extend(bucket.get(guess)?);
        values.extend(Cas::new(bucket, guess)?.current()?);
        found.extend(bucket.exists(guess)?.then(|| format!("{guess} exists")));
        found.extend(store::open(guess).ok().map(|_| format!("{guess} is a store")));
    }
    found.extend(values.iter().map(|value| String::from_utf8_lossy(value).into_owned()));
    Ok(found.join(","))
}

fn all_keys(bucket: &Bucket) -> Result<Vec<String>, store::Error> {
    let (mut keys, mut cursor) = (Vec::new(), None);
    loop {
        let page = bucket.list_keys(cursor.as_deref())?;
        keys.extend(page.keys);
        cursor = page.cursor;
        if cursor.is_none() {
            return Ok(keys);
        }
    }
}

/// The value before, which another caller's might be.
fn swap(bucket: &Bucket, key: &str, value: &str) -> Result<String, store::Error> {
    let cas = Cas::new(bucket, key)?;
    let before = cas.current()?;
    match atomics::swap(cas, value.as_bytes()) {
        Ok(()) => Ok(before.map_or("nothing".to_owned(), |old| String::from_utf8_lossy(&old).into_owned())),
        Err(CasError::StoreError(error)) => Err(error),
        Err(CasError::CasFailed(_)) => Ok("swapped by another".to_owned()),
    }
}

/// Writes until there is an error.
fn fill(bucket: &Bucket) -> String {
    let block = vec![b'x'; 128 << 10];
    let mut failed = (0..64).filter_map(|at| bucket.set(&format!("fill-{at}"), &block).err());
    failed.next().map_or("no end".to_owned(), |error| format!("{error:?}"))
}

fn use_kept() -> Result<String, store::Error> {
    KEPT.with_borrow(|kept| {
        let Some((bucket, cas)) = kept else { return Ok("nothing is kept".to_owned()) };
        let value = cas.current()?.unwrap_or_default();
        Ok(format!("{}={}", all_keys(bucket)?.join(","), String::from_utf8_lossy(&value)))
    })
}

raw::export!(Plugin with_types_in plugport_test_guests::raw);
