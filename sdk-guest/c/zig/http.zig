//! Requests to other hosts, which the operator grants.

const std = @import("std");

const c = @import("c.zig");
const failure = @import("failure.zig");
const memory = @import("memory.zig");
const HttpError = failure.HttpError;

pub const Header = struct { name: []const u8, value: []const u8 };

pub const Request = struct {
    /// In capital letters.
    method: []const u8 = "GET",
    /// Begins with https:// or http://.
    url: []const u8,
    /// At most 16.
    headers: []const Header = &.{},
    body: []const u8 = "",
    /// How long to wait for a connection, for the response, and for each piece of its body; 0 is the host's limit.
    timeout_ms: u32 = 0,
    /// How much of the response's body is received; 0 is 1 MiB.
    max_body: usize = 0,
};

pub const Response = struct {
    status: u16,
    body: []const u8,
    /// Whether there is more of the body.
    truncated: bool,
    raw: *const c.pp_http_response,

    /// The first header field of this name, in whatever case.
    pub fn header(response: Response, name: []const u8) ?[]const u8 {
        return std.mem.span(c.pp_http_header(response.raw, memory.zeroTerminated(name)) orelse return null);
    }
};

/// A request that is under way.
pub const Sent = struct {
    raw: *c.pp_http_sent,

    /// Waits for the response and its body. A status such as 404 is no error.
    pub fn receive(sent: Sent) HttpError!Response {
        const response = c.pp_http_receive(sent.raw);
        try failure.checkHttp(response);
        return .{
            .status = @intCast(response.status),
            .body = response.body[0..response.size],
            .truncated = response.truncated,
            .raw = response,
        };
    }

    /// Cancels what is still under way.
    pub fn close(sent: Sent) void {
        c.pp_http_close(sent.raw);
    }
};

pub fn get(url: []const u8) HttpError!Response {
    return send(.{ .url = url });
}

pub fn send(request: Request) HttpError!Response {
    return start(request).receive();
}

/// Begins to send a request. Several may be under way; if one cannot be sent, `receive` says so.
pub fn start(request: Request) Sent {
    var raw: c.pp_http_request = .{
        .method = memory.zeroTerminated(request.method),
        .url = memory.zeroTerminated(request.url),
        .bytes = request.body.ptr,
        .size = request.body.len,
        .timeout_ms = request.timeout_ms,
        .max_body = request.max_body,
    };
    @memcpy(raw.headers[0..request.headers.len], fields(request.headers));
    return .{ .raw = c.pp_http_start(&raw) };
}

/// Header fields as C has them.
pub fn fields(headers: []const Header) []c.pp_http_field {
    const all = memory.allocator.alloc(c.pp_http_field, headers.len) catch unreachable;
    for (all, headers) |*field, header| {
        field.* = .{ .name = memory.zeroTerminated(header.name), .value = memory.zeroTerminated(header.value) };
    }
    return all;
}
