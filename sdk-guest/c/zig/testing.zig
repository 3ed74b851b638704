//! The host and the client of tests, which run natively. The functions of plugport_testing.h under the names of Zig.

const std = @import("std");

const pp_test_result = extern struct {
    is_error: bool,
    failed: bool,
    failure: c_uint,
    text: [*:0]const u8,
    structured: ?[*:0]const u8,
    data: ?[*]const u8,
    size: usize,
    mime_type: ?[*:0]const u8,
    count: usize,
};

extern fn pp_test_samples(text: [*:0]const u8) void;
extern fn pp_test_accepts(json: [*:0]const u8) void;
extern fn pp_test_declines() void;
extern fn pp_test_closes() void;
extern fn pp_test_has_extension(name: [*:0]const u8) void;
extern fn pp_test_denies() void;
extern fn pp_test_new_client() void;
extern fn pp_test_has_config(key: [*:0]const u8, value: [*:0]const u8) void;
extern fn pp_test_has_secret(key: [*:0]const u8, value: [*:0]const u8) void;
extern fn pp_test_call(tool: [*:0]const u8, args: [*:0]const u8) pp_test_result;
extern fn pp_test_read(uri: [*:0]const u8) pp_test_result;
extern fn pp_test_input_schema(tool: [*:0]const u8) ?[*:0]const u8;
extern fn pp_test_logs() [*:0]const u8;

/// Another client, which has nothing, and has seen nothing; at a server whose store and settings are empty.
pub const newClient = pp_test_new_client;
/// What the client's model says from now on.
pub const samples = pp_test_samples;
/// The person fills in each form with this JSON, declines it, or closes it.
pub const accepts = pp_test_accepts;
pub const declines = pp_test_declines;
pub const closes = pp_test_closes;
/// The client declares this extension.
pub const hasExtension = pp_test_has_extension;
/// The operator grants neither requests to the client nor the store.
pub const denies = pp_test_denies;
pub const hasConfig = pp_test_has_config;
pub const hasSecret = pp_test_has_secret;

pub const Result = struct {
    text: []const u8,
    /// The JSON of a structured result.
    structured: ?[]const u8,
    is_error: bool,
    /// The request failed; `text` says why.
    failed: bool,
};

/// Calls a tool as the host does; `args` is a JSON object.
pub fn call(tool: [:0]const u8, args: [:0]const u8) Result {
    return converted(pp_test_call(tool, args));
}

/// Reads a resource.
pub fn read(uri: [:0]const u8) Result {
    return converted(pp_test_read(uri));
}

fn converted(result: pp_test_result) Result {
    return .{
        .text = std.mem.span(result.text),
        .structured = if (result.structured) |json| std.mem.span(json) else null,
        .is_error = result.is_error,
        .failed = result.failed,
    };
}

/// The schema of a tool's arguments, as clients see it.
pub fn inputSchema(tool: [:0]const u8) []const u8 {
    return std.mem.span(pp_test_input_schema(tool).?);
}

/// Lines such as `info: "greeting Ada"`, since the client was new.
pub fn logs() []const u8 {
    return std.mem.span(pp_test_logs());
}
