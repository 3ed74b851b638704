//! Holds memory and handles from one call to the next, where its instance is reused.

use std::cell::RefCell;
use std::hint::black_box;
use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult, number};

const MIB: usize = 1 << 20;
const PAGE: usize = 4096;
const NOTHING: &str = r#"{"type":"object"}"#;

/// Calls that this instance has served.
static COUNT: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static HANDLE: RefCell<Option<Call>> = const { RefCell::new(None) };
    static MEMORY: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        // Listing counts too, and no call may find that it did.
        COUNT.fetch_add(1_000, Ordering::Relaxed);
        let plain = ["count", "keep", "use_kept", "drop_kept", "trap", "fail", "say"];
        let mut tools: Vec<Tool> = plain.iter().map(|name| raw::tool(name, NOTHING)).collect();
        tools.extend(["grow", "burn", "nap"].iter().map(|name| raw::tool(name, &raw::amount("amount"))));
        Ok(tools)
    }

    fn call_tool(call: Call, name: String, args: String) -> Result<ToolResult, Error> {
        let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
        match name.as_str() {
            "keep" => HANDLE.set(Some(call)),
            "use_kept" => return Ok(raw::text(&kept(|kept| kept.meta().unwrap_or_default()))),
            "drop_kept" => {
                drop(HANDLE.take());
                return Ok(raw::text(&call.client().protocol));
            }
            "trap" => core::arch::wasm32::unreachable(),
            "fail" => return Err(Error::Internal(format!("failed in call {count}"))),
            // Without an end of the line.
            "say" => {
                print!("said in call {count}: {}", "x".repeat(500));
                std::io::stdout().flush().map_err(|error| Error::Internal(error.to_string()))?;
            }
            "grow" => grow(number(&args)?),
            "burn" => (0..number(&args)?).for_each(|step| _ = black_box(step)),
            "nap" => std::thread::sleep(std::time::Duration::from_millis(number(&args)? as u64)),
            _ => {}
        }
        Ok(raw::text(&count.to_string()))
    }
}

fn kept(ask: impl FnOnce(&Call) -> String) -> String {
    HANDLE.with_borrow(|handle| handle.as_ref().map_or("nothing was kept".to_owned(), ask))
}

/// Allocates memory and holds it.
fn grow(mib: usize) {
    let mut block = vec![0_u8; mib * MIB];
    block.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    MEMORY.with_borrow_mut(|blocks| blocks.push(black_box(block)));
}

raw::export!(Plugin with_types_in plugport_test_guests::raw);
