//! The request being served: its log and progress, and requests to the client.

const std = @import("std");

const c = @import("c.zig");
const failure = @import("failure.zig");
const memory = @import("memory.zig");
const params = @import("params.zig");
const HostError = failure.HostError;

pub const Level = enum(c_uint) { debug, info, notice, warning, err, critical, alert, emergency };

/// What a person answered to a form with the fields of `T`.
pub fn Elicited(comptime T: type) type {
    return union(enum) { accepted: T, declined, cancelled };
}

pub const Call = struct {
    /// For the functions of plugport.h that have no method here.
    raw: *c.pp_call,

    /// A line for the client's log.
    pub fn log(call: Call, level: Level, comptime format: []const u8, values: anytype) void {
        c.pp_log(call.raw, @backingInt(level), null, "%s", memory.print(format, values).ptr);
    }

    /// How far the call is; a `total` of null is unknown.
    pub fn progress(call: Call, done: f64, total: ?f64, text: []const u8) void {
        c.pp_progress(call.raw, done, total orelse -1, memory.zeroTerminated(text));
    }

    /// The client need not wait from here on, if it knows tasks. Whether the call is a task now; if not, everything
    /// goes on as before. The status is for people.
    pub fn detach(call: Call, status: ?[]const u8) bool {
        return c.pp_detach(call.raw, if (status) |text| memory.zeroTerminated(text).ptr else null);
    }

    /// Whether the client no longer waits.
    pub fn cancelled(call: Call) bool {
        return c.pp_cancelled(call.raw);
    }

    /// The names of the extensions of MCP that the client declared.
    pub fn extensions(call: Call) []const [*:0]const u8 {
        const client = c.pp_client_of(call.raw);
        return client.extensions[0..client.extension_count];
    }

    /// Whether the client declared this extension, such as `io.modelcontextprotocol/ui`.
    pub fn supports(call: Call, extension: []const u8) bool {
        return c.pp_supports(call.raw, memory.zeroTerminated(extension).ptr);
    }

    /// Who calls, when the server authenticates its callers.
    pub fn principal(call: Call) ?[]const u8 {
        return std.mem.span(c.pp_principal(call.raw) orelse return null);
    }

    /// What the client's model says.
    pub fn sample(call: Call, text: []const u8) HostError![]const u8 {
        const answer = c.pp_sample_with(call.raw, &.{ .text = memory.zeroTerminated(text) });
        try failure.check(answer.failure);
        return std.mem.span(answer.text);
    }

    /// Shows a form with the fields of `T` to the person at the client.
    pub fn elicit(
        call: Call,
        comptime T: type,
        comptime described: anytype,
        question: []const u8,
    ) (HostError || error{Failed})!Elicited(T) {
        const form = struct {
            const rows: c.pp_form = .{ .fields = params.rows(T, described) };
        };
        const answer = c.pp_elicit(call.raw, &form.rows, "%s", memory.zeroTerminated(question).ptr);
        try failure.check(answer.failure);
        return switch (answer.action) {
            .accepted => .{ .accepted = try params.read(T, answer.values.?) },
            .declined => .declined,
            .cancelled, .failed => .cancelled,
        };
    }
};
