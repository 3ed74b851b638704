//! A plugin with one tool. Write a function, and a row in the table below.

const std = @import("std");
const plugport = @import("plugport");

const Hello = struct { name: ?[]const u8, shout: bool = false };

fn hello(call: plugport.Call, args: Hello) []const u8 {
    const name = args.name orelse askForName(call);
    const greeting = plugport.print("Hello, {s}!", .{name orelse "whoever you are"});
    call.log(.info, "greeting {s}", .{name orelse "somebody"});
    return if (args.shout) std.ascii.upperString(greeting, greeting) else greeting;
}

const Who = struct { name: []const u8 };

/// The name that the person gives, or null.
fn askForName(call: plugport.Call) ?[]const u8 {
    const answer = call.elicit(Who, .{ .name = "Your name" }, "Whom shall I greet?") catch {
        call.log(.warning, "nobody can be asked: {s}", .{plugport.message()});
        return null;
    };
    return switch (answer) {
        .accepted => |who| who.name,
        .declined, .cancelled => null,
    };
}

pub const tools = [_]plugport.Tool{
    plugport.tool(hello, .{ .name = "hello", .description = "Greet someone by name." }, .{
        .name = "Who to greet; the person is asked if it is left out.",
        .shout = "Whether to greet in capitals.",
    }),
};
