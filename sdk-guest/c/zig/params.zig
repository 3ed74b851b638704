//! From the fields of a struct to the rows that describe arguments, and from arguments to that struct.
//!
//! | Type of the field | Argument |
//! |---|---|
//! | `[]const u8` or `[:0]const u8` | a text; in lists and structs only `[]const u8` |
//! | an integer | a whole number that the type can hold |
//! | a float, `bool` | a number, true or false |
//! | an enum | one of its names |
//! | a slice or a struct of these | JSON, with the schema of the type |
//! | an optional, a field with a default | may be missing, also in a struct or a list of them |

const std = @import("std");

const c = @import("c.zig");
const failure = @import("failure.zig");
const memory = @import("memory.zig");

/// The rows for the fields of `T`. `described` has a description for each, or is `{}`.
pub fn rows(comptime T: type, comptime described: anytype) c.pp_params {
    const info = @typeInfo(T).@"struct";
    if (info.field_names.len > c.most_params) {
        @compileError(@typeName(T) ++ " has more fields than there may be arguments");
    }
    if (@TypeOf(described) != void) {
        for (@typeInfo(@TypeOf(described)).@"struct".field_names) |name| {
            if (!@hasField(T, name)) {
                @compileError("`" ++ name ++ "` is described, and is no field of " ++ @typeName(T));
            }
        }
    }
    var all: c.pp_params = @splat(.{});
    inline for (info.field_names, info.field_types, info.field_attrs, 0..) |name, Field, attrs, at| {
        all[at] = kind(Required(Field));
        all[at].name = name;
        all[at].optional = Required(Field) != Field;
        if (@TypeOf(described) != void) {
            all[at].description = @field(described, name);
        }
        if (attrs.defaultValue(Field)) |value| {
            all[at].optional = true;
            all[at].otherwise = default(Field, value);
        }
    }
    return all;
}

/// A default as JSON, unless it is null.
fn default(comptime T: type, comptime value: T) ?[*:0]const u8 {
    if (@typeInfo(T) == .optional and value == null) {
        return null;
    }
    return std.fmt.comptimePrint("{f}", .{std.json.fmt(value, .{ .emit_null_optional_fields = false })});
}

fn kind(comptime T: type) c.pp_param {
    if (isText(T)) {
        return .{ .kind = .string };
    }
    return switch (@typeInfo(T)) {
        .bool => .{ .kind = .bool },
        .float => .{ .kind = .number },
        .int => .{ .kind = .integer, .ranged = T != i64, .lowest = lowest(T), .highest = highest(T) },
        .@"enum" => |info| .{ .kind = .choice, .detail = joined(info.field_names, "|") },
        else => .{ .kind = .json, .detail = schema(T) },
    };
}

fn Required(comptime T: type) type {
    return switch (@typeInfo(T)) {
        .optional => |info| info.child,
        else => T,
    };
}

fn isText(comptime T: type) bool {
    return T == []const u8 or T == [:0]const u8;
}

fn lowest(comptime T: type) i64 {
    return @max(std.math.minInt(T), std.math.minInt(i64));
}

fn highest(comptime T: type) i64 {
    return @min(std.math.maxInt(T), std.math.maxInt(i64));
}

fn joined(comptime names: []const [:0]const u8, comptime separator: []const u8) [:0]const u8 {
    var all: [:0]const u8 = "";
    for (names, 0..) |name, at| {
        all = all ++ (if (at == 0) "" else separator) ++ name;
    }
    return all;
}

/// The JSON Schema of a type.
fn schema(comptime T: type) [:0]const u8 {
    if (isText(T)) {
        return "{\"type\":\"string\"}";
    }
    return switch (@typeInfo(T)) {
        .bool => "{\"type\":\"boolean\"}",
        .float => "{\"type\":\"number\"}",
        .int => std.fmt.comptimePrint(
            "{{\"type\":\"integer\",\"minimum\":{d},\"maximum\":{d}}}",
            .{ lowest(T), highest(T) },
        ),
        .@"enum" => |info| "{\"type\":\"string\",\"enum\":[\"" ++ joined(info.field_names, "\",\"") ++ "\"]}",
        .optional => |info| "{\"anyOf\":[{\"type\":\"null\"}," ++ schema(info.child) ++ "]}",
        .pointer => |info| "{\"type\":\"array\",\"items\":" ++ schema(info.child) ++ "}",
        .@"struct" => |info| object(info),
        else => @compileError("an argument cannot be a " ++ @typeName(T)),
    };
}

fn object(comptime info: std.lang.Type.Struct) [:0]const u8 {
    var properties: [:0]const u8 = "";
    var required: [:0]const u8 = "";
    for (info.field_names, info.field_types, info.field_attrs) |name, Field, attrs| {
        const inner = property(Field, attrs.defaultValue(Field));
        properties = properties ++ (if (properties.len == 0) "" else ",") ++ "\"" ++ name ++ "\":" ++ inner;
        if (Required(Field) == Field and attrs.default_value_ptr == null) {
            required = required ++ (if (required.len == 0) "" else ",") ++ "\"" ++ name ++ "\"";
        }
    }
    return "{\"type\":\"object\",\"properties\":{" ++ properties ++ "},\"required\":[" ++ required ++
        "],\"additionalProperties\":false}";
}

/// The schema of a field, with its default. A null for a field that may be missing is removed by the server.
fn property(comptime Field: type, comptime otherwise: ?Field) [:0]const u8 {
    const own = schema(Required(Field));
    if (otherwise) |value| {
        if (default(Field, value)) |text| {
            return own[0 .. own.len - 1] ++ ",\"default\":" ++ std.mem.span(text) ++ "}";
        }
    }
    return own;
}

/// The arguments of a call. They fit their rows, which the SDK has checked.
pub fn read(comptime T: type, args: *const c.pp_args) error{Failed}!T {
    const info = @typeInfo(T).@"struct";
    var filled: T = undefined;
    inline for (info.field_names, info.field_types) |name, Field| {
        @field(filled, name) = try argument(Field, args, name);
    }
    return filled;
}

fn argument(comptime T: type, args: *const c.pp_args, comptime name: [:0]const u8) error{Failed}!T {
    if (comptime isText(T)) {
        return std.mem.span(c.pp_string(args, name).?);
    }
    return switch (@typeInfo(T)) {
        .bool => c.pp_bool(args, name),
        .float => @floatCast(c.pp_number(args, name)),
        .int => @intCast(c.pp_integer(args, name)),
        .@"enum" => std.meta.stringToEnum(T, std.mem.span(c.pp_string(args, name).?)).?,
        .optional => |info| if (!c.pp_has(args, name))
            null
        else if (comptime kind(info.child).kind == .json)
            try json(T, args, name)
        else
            try argument(info.child, args, name),
        else => try json(T, args, name),
    };
}

fn json(comptime T: type, args: *const c.pp_args, comptime name: [:0]const u8) error{Failed}!T {
    comptime checkTexts(T);
    const source = std.mem.span(c.pp_json_source(c.pp_value(args, name)).?);
    return parsed(T, source) catch failure.fail("the argument `{s}` does not fit its schema", .{name});
}

fn parsed(comptime T: type, source: []const u8) !T {
    const options: std.json.ParseOptions = .{ .parse_numbers = false };
    var value = try std.json.parseFromSliceLeaky(std.json.Value, memory.allocator, source, options);
    try fillOptionals(T, &value);
    return std.json.parseFromValueLeaky(T, memory.allocator, value, options);
}

/// Null for each optional field that is missing: `std.json` lets only fields with a default be missing.
fn fillOptionals(comptime T: type, value: *std.json.Value) std.mem.Allocator.Error!void {
    switch (@typeInfo(T)) {
        .optional => |info| try fillOptionals(info.child, value),
        .pointer => |info| switch (value.*) {
            .array => |array| for (array.items) |*item| try fillOptionals(info.child, item),
            else => {},
        },
        .@"struct" => switch (value.*) {
            .object => |*given| try fillFields(T, given),
            else => {},
        },
        else => {},
    }
}

fn fillFields(comptime T: type, given: *std.json.ObjectMap) std.mem.Allocator.Error!void {
    const info = @typeInfo(T).@"struct";
    inline for (info.field_names, info.field_types, info.field_attrs) |name, Field, attrs| {
        if (given.getPtr(name)) |field| {
            try fillOptionals(Field, field);
        } else if (Required(Field) != Field and attrs.default_value_ptr == null) {
            try given.put(memory.allocator, name, .null);
        }
    }
}

/// A text in JSON may hold U+0000, and one with a sentinel would end there.
fn checkTexts(comptime T: type) void {
    if (T == [:0]const u8) {
        @compileError("a text in a list or a struct of arguments is `[]const u8`, since it may hold U+0000");
    }
    switch (@typeInfo(T)) {
        .optional => |info| checkTexts(info.child),
        .pointer => |info| checkTexts(info.child),
        .@"struct" => |info| for (info.field_types) |Field| checkTexts(Field),
        else => {},
    }
}
