//! The plugin's settings and secrets, which its operator makes.

const std = @import("std");

const c = @import("c.zig");
const failure = @import("failure.zig");
const memory = @import("memory.zig");
const HostError = failure.HostError;

/// Null if the operator has not made it.
pub fn get(key: []const u8) HostError!?[]const u8 {
    const setting = c.pp_config(memory.zeroTerminated(key));
    try failure.check(setting.failure);
    return std.mem.span(setting.value orelse return null);
}

/// One that the plugin cannot do without.
pub fn require(key: []const u8) HostError![]const u8 {
    const setting = c.pp_config_require(memory.zeroTerminated(key));
    try failure.check(setting.failure);
    return std.mem.span(setting.value.?);
}
