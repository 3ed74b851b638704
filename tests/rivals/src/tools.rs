//! The tools that the native servers offer, as the guest `rivals` and the scripts in `servers/` do.

use std::hint::black_box;

pub const MESSAGE: &str =
    r#"{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}"#;
pub const STEPS: &str = r#"{"type":"object","properties":{"steps":{"type":"integer"}},"required":["steps"]}"#;
pub const NOTHING: &str = r#"{"type":"object"}"#;

/// Steps of [`work`] that take a native program about 10 ms.
pub const WORK_STEPS: u32 = 5_000_000;

/// Steps of a generator of random numbers, of which each needs the one before.
pub fn work(steps: u32) -> u32 {
    (0..black_box(steps)).fold(2_463_534_242, |mut value: u32, _| {
        value ^= value << 13;
        value ^= value >> 17;
        value ^ (value << 5)
    })
}

/// Names and schemas: the four tools, or as many echoes as `listed` says.
pub fn tools(listed: usize) -> Vec<(String, &'static str)> {
    if listed > 0 {
        return (0..listed).map(|number| (format!("rivals-tool-{number:04}"), MESSAGE)).collect();
    }
    let tools = [("echo", MESSAGE), ("work", STEPS), ("narrate", NOTHING), ("sample", NOTHING)];
    tools.map(|(name, schema)| (format!("rivals-{name}"), schema)).into()
}

/// What the guest says of a tool.
pub fn description(name: &str) -> String {
    format!("The tool {}.", name.trim_start_matches("rivals-"))
}
