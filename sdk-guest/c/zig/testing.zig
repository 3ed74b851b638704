//! The host and the client of tests, which run natively. The functions of plugport_testing.h under the names of Zig.

const std = @import("std");

const c = @import("c.zig");
const failure = @import("failure.zig");
const http = @import("http.zig");
const memory = @import("memory.zig");

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
extern fn pp_test_visits() void;
extern fn pp_test_declines() void;
extern fn pp_test_closes() void;
extern fn pp_test_has_root(uri: [*:0]const u8, name: ?[*:0]const u8) void;
extern fn pp_test_has_extension(name: [*:0]const u8) void;
extern fn pp_test_denies() void;
extern fn pp_test_cancels() void;
extern fn pp_test_new_client() void;
const pp_test_http_answer = fn (sent: *const c.pp_http_request) callconv(.c) c.pp_http_response;
extern fn pp_test_answers_http(answer: *const pp_test_http_answer) void;
extern fn pp_test_http_count() usize;
extern fn pp_test_http_request(at: usize) ?*const c.pp_http_request;
extern fn pp_test_has_config(key: [*:0]const u8, value: [*:0]const u8) void;
extern fn pp_test_has_secret(key: [*:0]const u8, value: [*:0]const u8) void;
extern fn pp_test_call(tool: [*:0]const u8, args: [*:0]const u8) pp_test_result;
extern fn pp_test_read(uri: [*:0]const u8) pp_test_result;
extern fn pp_test_read_template(
    template: [*:0]const u8,
    uri: [*:0]const u8,
    variables: [*:0]const u8,
) pp_test_result;
extern fn pp_test_prompt(name: [*:0]const u8, args: [*:0]const u8) pp_test_result;
extern fn pp_test_complete(name: [*:0]const u8, argument: [*:0]const u8, typed: [*:0]const u8) [*:0]const u8;
extern fn pp_test_input_schema(tool: [*:0]const u8) ?[*:0]const u8;
extern fn pp_test_output_schema(tool: [*:0]const u8) ?[*:0]const u8;
extern fn pp_test_logs() [*:0]const u8;
extern fn pp_test_progress() [*:0]const u8;
extern fn pp_test_request() ?[*:0]const u8;
extern fn pp_test_changes() [*:0]const u8;

/// Another client, which has nothing, and has seen nothing; at a server whose store and settings are empty.
pub const newClient = pp_test_new_client;
/// What the client's model says next. Each response is for one request.
pub const samples = pp_test_samples;
/// The person fills in the next form with this JSON, goes to the next page, declines it, or closes it.
pub const accepts = pp_test_accepts;
pub const visits = pp_test_visits;
pub const declines = pp_test_declines;
pub const closes = pp_test_closes;
/// The person works in this folder, which may have a name.
pub const hasRoot = pp_test_has_root;
/// The client declares this extension.
pub const hasExtension = pp_test_has_extension;
/// The operator grants neither requests to the client nor the store.
pub const denies = pp_test_denies;
/// The client no longer waits.
pub const cancels = pp_test_cancels;
pub const hasConfig = pp_test_has_config;
pub const hasSecret = pp_test_has_secret;

/// A request to another host as it was sent.
pub const HttpRequest = struct {
    method: []const u8,
    url: []const u8,
    body: []const u8,
    raw: *const c.pp_http_request,

    fn of(raw: *const c.pp_http_request) HttpRequest {
        return .{
            .method = std.mem.span(raw.method.?),
            .url = std.mem.span(raw.url.?),
            .body = if (raw.bytes) |bytes| bytes[0..raw.size] else "",
            .raw = raw,
        };
    }

    /// The first header field of this name, in whatever case.
    pub fn header(sent: HttpRequest, name: []const u8) ?[]const u8 {
        for (sent.raw.headers) |field| {
            const own = std.mem.span(field.name orelse return null);
            if (std.ascii.eqlIgnoreCase(own, name)) {
                return std.mem.span(field.value orelse "");
            }
        }
        return null;
    }
};

/// What another host answers.
pub const HttpAnswer = struct {
    /// 200 unless you say otherwise. With an error there is no response, or with both one that breaks off.
    status: ?u16 = null,
    /// Names are in small letters. They are constants, or from `plugport.allocator`.
    headers: []const http.Header = &.{},
    body: [:0]const u8 = "",
    err: ?failure.HttpError = null,
    /// Of `error.Invalid`, `error.Unsent` and `error.Broken` the reason, of `error.OverLimit` the limit's name.
    detail: ?[:0]const u8 = null,

    fn raw(made: HttpAnswer) c.pp_http_response {
        const detail: ?[*:0]const u8 = if (made.detail) |text| text.ptr else null;
        return .{
            .@"error" = if (made.err) |err| failure.httpErrorNumber(err) else 0,
            .message = detail orelse "the test says so",
            .denied_request = null,
            .grant = null,
            .limit = detail,
            .status = made.status orelse @as(u16, if (made.err == null) 200 else 0),
            .headers = http.fields(made.headers).ptr,
            .header_count = made.headers.len,
            .body = made.body.ptr,
            .size = made.body.len,
            .truncated = false,
        };
    }
};

/// Requests to other hosts are answered by this function from now on; without one, each is denied.
pub fn answersHttp(comptime answer: fn (sent: HttpRequest) HttpAnswer) void {
    pp_test_answers_http(&struct {
        fn respond(sent: *const c.pp_http_request) callconv(.c) c.pp_http_response {
            return answer(HttpRequest.of(sent)).raw();
        }
    }.respond);
}

/// How many requests there were since the client was new, also those that were denied.
pub const httpCount = pp_test_http_count;

/// One of these requests.
pub fn httpRequest(at: usize) HttpRequest {
    return HttpRequest.of(pp_test_http_request(at).?);
}

pub const Result = struct {
    text: []const u8,
    /// The JSON of a structured result.
    structured: ?[]const u8,
    is_error: bool,
    /// The request failed; `text` says why, and `err` is the error of the host that the client gets.
    failed: bool,
    err: ?failure.HostError,
    /// The last piece that is bytes, and its type.
    data: []const u8,
    mime_type: ?[]const u8,
};

/// Calls a tool as the host does; `args` is a JSON object. Arguments and structured results that do not fit the tool's
/// schemas are rejected as the server does it.
pub fn call(tool: [:0]const u8, args: [:0]const u8) Result {
    return converted(pp_test_call(tool, args));
}

/// Reads a resource.
pub fn read(uri: [:0]const u8) Result {
    return converted(pp_test_read(uri));
}

/// Reads a resource of a template; `variables` is a JSON object: what the URI has for them, decoded.
pub fn readTemplate(template: [:0]const u8, uri: [:0]const u8, variables: [:0]const u8) Result {
    return converted(pp_test_read_template(template, uri, variables));
}

/// Gets a prompt: a line for each message, after `user: ` or `assistant: `.
pub fn prompt(name: [:0]const u8, args: [:0]const u8) Result {
    return converted(pp_test_prompt(name, args));
}

/// Completes an argument of a prompt: `a|b|c`.
pub fn complete(name: [:0]const u8, argument: [:0]const u8, typed: [:0]const u8) []const u8 {
    return std.mem.span(pp_test_complete(name, argument, typed));
}

fn converted(result: pp_test_result) Result {
    return .{
        .text = std.mem.span(result.text),
        .structured = if (result.structured) |json| std.mem.span(json) else null,
        .is_error = result.is_error,
        .failed = result.failed,
        .err = if (result.failed) failure.hostError(result.failure) else null,
        .data = if (result.data) |data| data[0..result.size] else "",
        .mime_type = if (result.mime_type) |name| std.mem.span(name) else null,
    };
}

/// The schema of a tool's arguments, as clients see it.
pub fn inputSchema(tool: [:0]const u8) []const u8 {
    return std.mem.span(pp_test_input_schema(tool).?);
}

/// The schema of a tool's structured results, if it has one.
pub fn outputSchema(tool: [:0]const u8) ?[]const u8 {
    return std.mem.span(pp_test_output_schema(tool) orelse return null);
}

/// Lines such as `info: "greeting Ada"`, since the client was new.
pub fn logs() []const u8 {
    return std.mem.span(pp_test_logs());
}

/// Lines such as `1/3 message`.
pub fn progress() []const u8 {
    return std.mem.span(pp_test_progress());
}

/// The params of the last request that the client got.
pub fn request() ?[]const u8 {
    return std.mem.span(pp_test_request() orelse return null);
}

/// Lines such as `tools` and `resource notes://1`.
pub fn changes() []const u8 {
    return std.mem.span(pp_test_changes());
}
