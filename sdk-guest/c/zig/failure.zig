//! Errors, and what the client gets for them.
//!
//! An error of Zig has a name and nothing else. So the last one of the host, and of `fail`, is kept with its message
//! until the tool returns it.

const std = @import("std");

const c = @import("c.zig");
const memory = @import("memory.zig");

/// Why the host could not do something.
pub const HostError = error{
    NotFound,
    InvalidParams,
    Internal,
    MissingCapability,
    Denied,
    OverBudget,
    TimedOut,
    Cancelled,
    Rejected,
    Rpc,
};

/// Why there is no response from another host, or not all of it.
pub const HttpError = error{
    Denied,
    PrivateAddress,
    Invalid,
    UnknownHost,
    Unreachable,
    Tls,
    TimedOut,
    OverLimit,
    Unsent,
    Broken,
};

/// The errors in the order of the header.
const host_errors = [_]HostError{
    error.NotFound,
    error.InvalidParams,
    error.Internal,
    error.MissingCapability,
    error.Denied,
    error.OverBudget,
    error.TimedOut,
    error.Cancelled,
    error.Rejected,
    error.Rpc,
};

const http_errors = [_]HttpError{
    error.Denied,
    error.PrivateAddress,
    error.Invalid,
    error.UnknownHost,
    error.Unreachable,
    error.Tls,
    error.TimedOut,
    error.OverLimit,
    error.Unsent,
    error.Broken,
};

const Kept = struct { err: anyerror, message: []const u8, result: *c.pp_result };

var last: ?Kept = null;

/// The error of a tool, which the model reads: say what to do. `return plugport.fail("...", .{});`
pub fn fail(comptime format: []const u8, values: anytype) error{Failed} {
    const said = memory.print(format, values);
    last = .{ .err = error.Failed, .message = said, .result = c.pp_error("%s", said.ptr) };
    return error.Failed;
}

/// The host's words for the last error, for a tool that handles it; empty if there was none.
pub fn message() []const u8 {
    return if (last) |kept| kept.message else "";
}

pub fn check(failure: ?*const c.pp_failure) HostError!void {
    const found = failure orelse return;
    const err = hostError(found.kind);
    last = .{ .err = err, .message = std.mem.span(found.message), .result = c.pp_failed(found) };
    return err;
}

pub fn checkHttp(response: *const c.pp_http_response) HttpError!void {
    if (response.@"error" == 0) {
        return;
    }
    const err = http_errors[response.@"error" - 1];
    last = .{ .err = err, .message = std.mem.span(response.message), .result = c.pp_http_failed(response) };
    return err;
}

/// The error of the host that has this number in the header.
pub fn hostError(number: c_uint) HostError {
    return host_errors[number];
}

/// The number that an error has in the header.
pub fn httpErrorNumber(err: HttpError) c_uint {
    for (http_errors, 1..) |one, number| {
        if (one == err) return @intCast(number);
    }
    unreachable;
}

/// What the client gets for the error that a tool returned.
pub fn result(err: anyerror) *c.pp_result {
    if (last) |kept| {
        if (kept.err == err) {
            return kept.result;
        }
    }
    return c.pp_error("the tool failed: %s", @errorName(err).ptr);
}

/// Before a call: what was kept is of another one, whose memory is gone.
pub fn forget() void {
    last = null;
}
