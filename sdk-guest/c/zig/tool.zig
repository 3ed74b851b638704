//! A tool as the SDK for C has it, made of a function and what is said about it.

const std = @import("std");

const c = @import("c.zig");
const failure = @import("failure.zig");
const memory = @import("memory.zig");
const params = @import("params.zig");
const Call = @import("call.zig").Call;

/// What clients are told of a tool besides its arguments.
pub const About = struct {
    name: [:0]const u8,
    /// The model reads this to decide when to call the tool.
    description: [:0]const u8,
    title: ?[:0]const u8 = null,
    /// What the tool does; nothing is said where it is null.
    read_only: ?bool = null,
    destructive: ?bool = null,
    idempotent: ?bool = null,
    open_world: ?bool = null,
    /// A JSON object of further MCP fields.
    extra: ?[:0]const u8 = null,

    fn hints(about: About) c_uint {
        var bits: c_uint = 0;
        for ([_]?bool{ about.read_only, about.destructive, about.idempotent, about.open_world }, 0..) |hint, at| {
            bits |= @as(c_uint, if (hint orelse continue) 1 else 16) << at;
        }
        return bits;
    }
};

/// A tool that calls `function`, which takes a `Call` and a struct of arguments, and returns a text, a struct or a
/// `*Result`, or an error. `described` has a description for each argument.
pub fn tool(comptime function: anytype, comptime about: About, comptime described: anytype) c.pp_tool {
    const info = @typeInfo(@TypeOf(function)).@"fn";
    if (info.param_types.len != 2 or info.param_types[0].? != Call) {
        @compileError("the function of the tool `" ++ about.name ++ "` takes a Call and a struct of arguments");
    }
    const Args = info.param_types[1].?;
    return .{
        .name = about.name,
        .title = if (about.title) |title| title else null,
        .description = about.description,
        .call = handler(function, Args),
        .hints = about.hints(),
        .params = params.rows(Args, described),
        .returns = returns(Payload(info.return_type.?)),
        .extra = if (about.extra) |extra| extra else null,
    };
}

/// The function as the host calls it.
fn handler(comptime function: anytype, comptime Args: type) *const c.pp_handler {
    return &struct {
        fn call(raw: *c.pp_call, args: *const c.pp_args) callconv(.c) *c.pp_result {
            failure.forget();
            const read = params.read(Args, args) catch |err| return failure.result(err);
            const outcome = function(Call{ .raw = raw }, read);
            return switch (@typeInfo(@TypeOf(outcome))) {
                .error_union => result(outcome catch |err| return failure.result(err)),
                else => result(outcome),
            };
        }
    }.call;
}

/// What is returned unless it is an error.
fn Payload(comptime T: type) type {
    return switch (@typeInfo(T)) {
        .error_union => |info| info.payload,
        else => T,
    };
}

fn returns(comptime T: type) c.pp_params {
    return if (@typeInfo(T) == .@"struct") params.rows(T, {}) else @splat(.{});
}

fn result(value: anytype) *c.pp_result {
    const T = @TypeOf(value);
    if (T == *c.pp_result) {
        return value;
    }
    return switch (@typeInfo(T)) {
        .@"struct" => c.pp_structured(document(value)),
        else => text(value),
    };
}

fn text(value: []const u8) *c.pp_result {
    // The SDK for C would take the text as ended there.
    for (value) |byte| {
        if (byte == 0) return c.pp_error("the tool failed: its text has the character U+0000");
    }
    return c.pp_text("%.*s", @as(c_int, @intCast(value.len)), value.ptr);
}

fn document(value: anytype) *c.pp_doc {
    const options: std.json.Stringify.Options = .{ .emit_null_optional_fields = false };
    const doc = c.pp_object();
    inline for (@typeInfo(@TypeOf(value)).@"struct".field_names) |name| {
        const field = @field(value, name);
        // The schema lets the client miss an optional field, and knows no null.
        const is_missing = if (@typeInfo(@TypeOf(field)) == .optional) field == null else false;
        if (!is_missing) {
            c.pp_put_json(doc, name, memory.print("{f}", .{std.json.fmt(field, options)}));
        }
    }
    return doc;
}
