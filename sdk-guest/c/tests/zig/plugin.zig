//! The plugin of the tests of the layer for Zig.

const std = @import("std");
const plugport = @import("plugport");
const Call = plugport.Call;

const Shape = struct { sides: u8 = 3, name: ?[]const u8 };

const Kinds = struct {
    text: [:0]const u8,
    tiny: i8,
    whole: i64 = -1,
    part: f32 = 0.5,
    yes: ?bool,
    tone: enum { formal, friendly } = .friendly,
    words: []const []const u8 = &.{},
    shape: ?Shape,
};

fn kinds(_: Call, args: Kinds) []const u8 {
    return plugport.print("{s} {d} {d} {d} {?} {t} {d} {d}", .{
        args.text,
        args.tiny,
        args.whole,
        args.part,
        args.yes,
        args.tone,
        length(args.words),
        if (args.shape) |shape| shape.sides else 0,
    });
}

fn length(words: []const []const u8) usize {
    var bytes: usize = 0;
    for (words) |word| bytes += word.len;
    return bytes;
}

fn sides(_: Call, args: struct { shapes: []const Shape }) []const u8 {
    var all: usize = 0;
    for (args.shapes) |shape| all += shape.sides + length(&.{shape.name orelse ""});
    return plugport.print("{d}", .{all});
}

const Sum = struct { sum: i32, words: []const []const u8, note: ?[]const u8, shape: Shape };

fn sum(_: Call, args: struct { a: i32, b: i32 }) !Sum {
    const total = try std.math.add(i32, args.a, args.b);
    return .{ .sum = total, .words = &.{ "a", "b" }, .note = null, .shape = .{ .sides = 2, .name = null } };
}

fn count(call: Call, args: struct { key: []const u8, by: i64 = 1 }) ![]const u8 {
    call.progress(1, null, "counting");
    if (args.by == 0) {
        return plugport.fail("`by` is 0; pass another number", .{});
    }
    const total = plugport.kv.increment(args.key, args.by) catch |err| switch (err) {
        error.Denied => return plugport.print("not counted: {s}", .{plugport.message()}),
        else => return err,
    };
    return plugport.print("{d} {s}", .{ total, (try plugport.kv.get(args.key)).? });
}

fn setting(_: Call, args: struct { key: []const u8 }) ![]const u8 {
    return plugport.config.require(args.key);
}

fn ask(call: Call, _: struct {}) !*plugport.Result {
    const answer = try call.sample("What?");
    return plugport.c.pp_add_text(plugport.c.pp_nothing(), "%s", plugport.print("{s}", .{answer}).ptr);
}

fn apps(call: Call, _: struct {}) []const u8 {
    const names = call.extensions();
    const last = if (names.len > 0) std.mem.span(names[names.len - 1]) else "none";
    return plugport.print("{} {s} {} {}", .{
        call.supports("io.modelcontextprotocol/ui"),
        last,
        call.detach("rendering"),
        call.detach(null),
    });
}

fn fetch(_: Call, args: struct { url: []const u8 }) ![]const u8 {
    const accepted = [_]plugport.http.Header{.{ .name = "accept", .value = "text/plain" }};
    const response = try plugport.http.send(.{ .url = args.url, .headers = &accepted });
    return plugport.print("{d} {s}{s}", .{ response.status, response.body, response.header("X-Kind") orelse "" });
}

/// A row as C has it, with a schema of its own.
fn ratio(_: *plugport.c.pp_call, args: *const plugport.c.pp_args) callconv(.c) *plugport.c.pp_result {
    const doc = plugport.c.pp_object();
    plugport.c.pp_put_number(doc, "ratio", plugport.c.pp_number(args, "ratio"));
    return plugport.c.pp_structured(doc);
}

fn picture(_: Call, _: struct {}) *plugport.Result {
    return plugport.c.pp_add_image(plugport.c.pp_nothing(), "png", 3, "image/png");
}

const ratio_params = rows: {
    var all: plugport.c.pp_params = @splat(.{});
    all[0] = .{ .kind = .number, .name = "ratio", .description = "Which." };
    break :rows all;
};

pub const tools = [_]plugport.Tool{
    plugport.tool(kinds, .{ .name = "kinds", .description = "Every kind.", .read_only = true }, .{
        .text = "A text.",
        .tiny = "A small number.",
        .whole = "A number.",
        .part = "A part.",
        .yes = "Whether.",
        .tone = "How.",
        .words = "Words.",
        .shape = "A shape.",
    }),
    plugport.tool(sides, .{ .name = "sides", .description = "Count sides." }, .{ .shapes = "Shapes." }),
    plugport.tool(sum, .{ .name = "sum", .description = "Add." }, .{ .a = "One.", .b = "The other." }),
    plugport.tool(count, .{ .name = "count", .description = "Count." }, .{ .key = "What.", .by = "How many." }),
    plugport.tool(setting, .{ .name = "setting", .description = "A setting." }, .{ .key = "Which." }),
    plugport.tool(ask, .{ .name = "ask", .description = "Ask the model." }, .{}),
    plugport.tool(fetch, .{ .name = "fetch", .description = "Fetch a page." }, .{ .url = "Where it is." }),
    plugport.tool(picture, .{ .name = "picture", .description = "A picture." }, .{}),
    .{
        .name = "ratio",
        .description = "A ratio.",
        .call = ratio,
        .params = ratio_params,
        .output_schema = "{\"type\":\"object\",\"properties\":{\"ratio\":{\"maximum\":1}}}",
    },
    plugport.tool(apps, .{ .name = "apps", .description = "Say what the client declared." }, .{}),
};

fn greeting(_: *plugport.c.pp_call, _: *const plugport.c.pp_args) callconv(.c) *plugport.c.pp_result {
    return plugport.c.pp_text("Hello");
}

fn item(_: *plugport.c.pp_call, variables: *const plugport.c.pp_args) callconv(.c) *plugport.c.pp_result {
    return plugport.c.pp_text("Item %s", plugport.c.pp_string(variables, "id").?);
}

pub const resources = [_]plugport.c.pp_resource{
    .{ .uri = "zig://greeting", .name = "greeting", .read = greeting },
    .{ .uri = "zig://item/{id}", .name = "item", .read = item },
};

const greeted = rows: {
    var all: plugport.c.pp_params = @splat(.{});
    all[0] = .{ .kind = .string, .name = "name", .description = "Whom." };
    break :rows all;
};

pub const prompts = [_]plugport.c.pp_prompt{
    .{ .name = "greet", .description = "Greet.", .get = greeting, .params = greeted },
};

pub const completions = [_]plugport.c.pp_completion{
    .{ .prompt = "greet", .argument = "name", .choices = "Ada|Alan|Bob" },
};
