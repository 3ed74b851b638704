//! Calls the functions of the host with texts that are larger and stranger than anyone needs: one of them again and
//! again, or all of them in an order that a seed decides.

use plugport_test_guests::host_functions::HostFunctions;
use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult};

struct Plugin;

const REPEAT: &str = r#"{"type":"object","properties":{"function":{"type":"string"},"bytes":{"type":"integer"},
    "times":{"type":"integer"}},"required":["function","bytes","times"]}"#;
const RANDOM: &str = r#"{"type":"object","properties":{"seed":{"type":"integer"},"steps":{"type":"integer"},
    "bits":{"type":"integer"}},"required":["seed","steps","bits"]}"#;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        Ok(vec![
            raw::tool("repeat", REPEAT),
            raw::tool("random", RANDOM),
            raw::tool("names", r#"{"type":"object"}"#),
        ])
    }

    fn call_tool(call: Call, name: String, args: String) -> Result<ToolResult, Error> {
        let args: serde_json::Value =
            serde_json::from_str(&args).map_err(|error| Error::InvalidParams(error.to_string()))?;
        let number = |name: &str| args[name].as_u64().unwrap_or_default();
        match name.as_str() {
            "repeat" => {
                let function = args["function"].as_str().unwrap_or_default();
                repeat(&call, function, number("bytes") as usize, number("times"))
            }
            "random" => Ok(random(&call, number("seed"), number("steps"), number("bits"))),
            _ => Ok(raw::text(&HostFunctions::names().collect::<Vec<_>>().join(" "))),
        }
    }
}

/// One function. 0 times: for ever.
fn repeat(call: &Call, function: &str, bytes: usize, times: u64) -> Result<ToolResult, Error> {
    let functions = HostFunctions::functions(function);
    let [function] = functions[..] else {
        return Err(Error::InvalidParams(format!("no function {function}")));
    };
    let (mut library, text) = (HostFunctions::new(call), "m".repeat(bytes));
    let mut left = times;
    loop {
        function(&mut library, &text);
        left = left.wrapping_sub(1);
        if left == 0 {
            return Ok(raw::text("done"));
        }
    }
}

/// Any functions, with texts of any length up to so many bits of it.
fn random(call: &Call, seed: u64, steps: u64, bits: u64) -> ToolResult {
    let (mut library, functions) = (HostFunctions::new(call), HostFunctions::functions(""));
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let letters = ["m", "é", "/", "a/../", "\u{1}", "A.", "\"", "\\", "\u{10ffff}", "%41", "0"];
    for _ in 0..steps {
        let (function, letter) = (functions[next() % functions.len()], letters[next() % letters.len()]);
        let length = next() % (1 << (next() % (bits as usize + 1)));
        function(&mut library, &letter.repeat(length / letter.len()));
    }
    raw::text("done")
}

raw::export!(Plugin with_types_in plugport_test_guests::raw);
