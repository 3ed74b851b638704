//! Every interface of the host once. The guests of the other languages behave the same, so that one test drives them
//! all.

const std = @import("std");
const plugport = @import("plugport");
const Call = plugport.Call;

fn fetchText(_: Call, args: struct { url: []const u8 }) ![]const u8 {
    const response = plugport.http.get(args.url) catch return inWords();
    return response.body;
}

fn fetchAll(_: Call, args: struct { urls: []const []const u8 }) ![]const u8 {
    const all = try plugport.allocator.alloc(plugport.http.Sent, args.urls.len);
    for (all, args.urls) |*sent, url| {
        sent.* = plugport.http.start(.{ .url = url });
    }
    const bodies = try plugport.allocator.alloc([]const u8, all.len);
    for (bodies, all) |*body, sent| {
        const response = sent.receive() catch return inWords();
        body.* = response.body;
    }
    return std.mem.join(plugport.allocator, "\n", bodies);
}

/// What went wrong, without the words before it with which the SDK hands on a denial.
fn inWords() error{Failed} {
    return plugport.fail("{s}", .{plugport.message()});
}

fn countVisits(_: Call, args: struct { name: []const u8 }) ![]const u8 {
    return plugport.print("{d}", .{try plugport.kv.increment(args.name, 1)});
}

/// Logs the secret, which the client must not see.
fn greetConfigured(call: Call, _: struct {}) ![]const u8 {
    const greeting = try plugport.config.require("greeting");
    const token = try plugport.config.require("token");
    call.log(.info, "{s}", .{token});
    return plugport.print("{s} {d}", .{ greeting, try std.unicode.utf8CountCodepoints(token) });
}

fn detach(call: Call, args: struct { status: []const u8 }) []const u8 {
    return plugport.print("{}", .{call.detach(args.status)});
}

fn extensions(call: Call, _: struct {}) ![]const u8 {
    const names = call.extensions();
    const texts = try plugport.allocator.alloc([]const u8, names.len);
    for (texts, names) |*text, name| {
        text.* = std.mem.span(name);
    }
    return std.mem.join(plugport.allocator, ", ", texts);
}

fn sleep(_: Call, args: struct { ms: u32 }) []const u8 {
    const time: std.c.timespec = .{ .sec = args.ms / 1000, .nsec = @intCast(args.ms % 1000 * 1_000_000) };
    _ = std.c.nanosleep(&time, null);
    return "rested";
}

pub const tools = [_]plugport.Tool{
    plugport.tool(fetchText, .{ .name = "fetch-text", .description = "Fetch a text." }, .{ .url = "Where it is." }),
    plugport.tool(fetchAll, .{ .name = "fetch-all", .description = "Fetch several texts at once." }, .{
        .urls = "Where they are.",
    }),
    plugport.tool(countVisits, .{ .name = "count-visits", .description = "Count the visits of someone." }, .{
        .name = "Who visits.",
    }),
    plugport.tool(greetConfigured, .{
        .name = "greet-configured",
        .description = "Say the greeting of the settings, and how long the secret is.",
    }, .{}),
    plugport.tool(detach, .{
        .name = "detach",
        .description = "Let the client go on without waiting, and say whether it does.",
    }, .{ .status = "What to tell people meanwhile." }),
    plugport.tool(extensions, .{
        .name = "extensions",
        .description = "Say which extensions the client declared.",
    }, .{}),
    plugport.tool(sleep, .{ .name = "sleep", .description = "Sleep." }, .{ .ms = "How many milliseconds." }),
};
