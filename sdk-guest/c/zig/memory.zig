//! Memory of one call: it is given back as a whole when the call ends, so nobody frees any of it.

const std = @import("std");
const Alignment = std.mem.Alignment;

const c = @import("c.zig");

/// How `pp_alloc` aligns.
const alignment_of_c: Alignment = .@"16";

pub const allocator: std.mem.Allocator = .{ .ptr = undefined, .vtable = &.{
    .alloc = alloc,
    .resize = resize,
    .remap = remap,
    .free = free,
} };

/// What `std.fmt` makes of a format and its values, with a zero after it.
pub fn print(comptime format: []const u8, values: anytype) [:0]u8 {
    return allocator.printSentinel(format, values, 0) catch unreachable;
}

/// A copy with a zero after it, as C wants it.
pub fn zeroTerminated(text: []const u8) [:0]u8 {
    return c.pp_copy(text.ptr, text.len)[0..text.len :0];
}

/// Without memory `pp_alloc` ends the call.
fn alloc(_: *anyopaque, size: usize, alignment: Alignment, _: usize) ?[*]u8 {
    if (alignment.compare(.lte, alignment_of_c)) {
        return c.pp_alloc(size);
    }
    return @ptrFromInt(alignment.forward(@intFromPtr(c.pp_alloc(size + alignment.toByteUnits()))));
}

fn resize(_: *anyopaque, memory: []u8, _: Alignment, size: usize, _: usize) bool {
    return size <= memory.len;
}

fn remap(_: *anyopaque, memory: []u8, _: Alignment, size: usize, _: usize) ?[*]u8 {
    return if (size <= memory.len) memory.ptr else null;
}

fn free(_: *anyopaque, _: []u8, _: Alignment, _: usize) void {}
