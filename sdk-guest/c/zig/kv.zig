//! The plugin's key-value store, which the operator grants. Values outlive the call.

const std = @import("std");

const c = @import("c.zig");
const failure = @import("failure.zig");
const memory = @import("memory.zig");
const HostError = failure.HostError;

pub fn get(key: []const u8) HostError!?[]const u8 {
    const value = c.pp_kv_get(memory.zeroTerminated(key));
    try failure.check(value.failure);
    return (value.data orelse return null)[0..value.size];
}

pub fn exists(key: []const u8) HostError!bool {
    const found = c.pp_kv_exists(memory.zeroTerminated(key));
    try failure.check(found.failure);
    return found.exists;
}

pub fn set(key: []const u8, value: []const u8) HostError!void {
    try failure.check(c.pp_kv_set(memory.zeroTerminated(key), value.ptr, value.len));
}

/// Removes a key, if it is there.
pub fn delete(key: []const u8) HostError!void {
    try failure.check(c.pp_kv_delete(memory.zeroTerminated(key)));
}

/// Adds to a number and returns the sum; a missing number counts as 0. Concurrent additions are not lost.
pub fn increment(key: []const u8, by: i64) HostError!i64 {
    const sum = c.pp_kv_increment(memory.zeroTerminated(key), by);
    try failure.check(sum.failure);
    return sum.number;
}

/// All keys, in no fixed order.
pub fn keys() HostError![]const []const u8 {
    const list = c.pp_kv_keys();
    try failure.check(list.failure);
    const all = memory.allocator.alloc([]const u8, list.count) catch unreachable;
    for (all, list.items[0..list.count]) |*key, item| {
        key.* = std.mem.span(item);
    }
    return all;
}
