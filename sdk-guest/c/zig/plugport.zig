//! Write an MCP tool as a Zig function, and build it into a WebAssembly component.
//!
//! This is a layer above the SDK for C, whose sources are compiled along: structs describe arguments, slices are texts,
//! and failures are errors. What it does not cover is in `c`, under the names of plugport.h.
//!
//! In a component this file is the root, and imports the plugin; in a test the test is.

const std = @import("std");
const plugin = @import("plugin");

const failure = @import("failure.zig");
const memory = @import("memory.zig");
const tables = @import("tool.zig");

pub const c = @import("c.zig");
pub const config = @import("config.zig");
pub const http = @import("http.zig");
pub const kv = @import("kv.zig");
pub const testing = @import("testing.zig");

pub const Call = @import("call.zig").Call;
pub const HostError = failure.HostError;
pub const HttpError = failure.HttpError;
pub const Result = c.pp_result;
pub const Tool = c.pp_tool;

pub const allocator = memory.allocator;
pub const fail = failure.fail;
pub const message = failure.message;
pub const print = memory.print;
pub const tool = tables.tool;

comptime {
    publish("tools", Tool);
    publish("resources", c.pp_resource);
    publish("prompts", c.pp_prompt);
    publish("completions", c.pp_completion);
}

/// Gives the SDK the plugin's table of this name, if it has one.
fn publish(comptime name: []const u8, comptime Item: type) void {
    if (@hasDecl(plugin, name)) {
        const items: []const Item = &@field(plugin, name);
        const published = struct {
            const table: c.Table(Item) = .{ .items = items.ptr, .count = items.len };
        };
        @export(&published.table, .{ .name = "pp_" ++ name ++ "_of_plugin" });
    }
}

/// What std calls in a component when something that cannot be has happened: the call ends, and the message goes to the
/// server's log.
pub const panic = std.debug.FullPanic(struct {
    fn end(what: []const u8, _: ?usize) noreturn {
        for ([_][]const u8{ "plugport: ", what, "\n" }) |part| {
            _ = std.c.write(2, part.ptr, part.len);
        }
        std.c.abort();
    }
}.end);
