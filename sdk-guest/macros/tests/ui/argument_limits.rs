use plugport_sdk::prelude::*;

#[data]
#[derive(Debug)]
struct Own(u32);

/// Book a room.
#[tool]
fn one(#[arg(min = "1")] value: u32) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn two(#[arg(max_length = -1)] value: String) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn three(#[arg(pattern = 5)] value: String) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn four(#[arg(max)] value: u32) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn five(#[arg(min = 1, min = 2)] value: u32) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn six(#[arg(min = 1)] value: String) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn seven(#[arg(min_length = 1)] value: Option<u32>) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn eight(#[arg(pattern = "[a-z]+")] value: Vec<String>) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn nine(#[arg(max = 300)] value: u8) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn ten(#[arg(above = 0.5)] value: u32) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn eleven(#[arg(multiple_of = 0)] value: u32) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn twelve(#[arg(min = 30, max = 1)] value: u32) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn thirteen(#[arg(min = -1.5, below = -1.5)] value: f64) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn fourteen(#[arg(max = 9, below = 10)] value: u32) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn fifteen(#[arg(min = 1, pattern = "1")] value: Own) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn sixteen(#[arg(max = 30, default = 31)] value: u32) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool]
fn seventeen(#[arg(min_length = 3, default = "ab")] value: String) -> String {
    format!("{value:?}")
}

/// Book a room.
#[tool(input_schema = "{}")]
fn own_schema(#[arg(max = 9)] value: u32) -> u32 {
    value
}

/// Book a room.
#[prompt]
fn prompt(#[arg(max = 9)] value: u32) -> String {
    value.to_string()
}

fn main() {}
