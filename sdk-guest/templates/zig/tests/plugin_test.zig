//! The plugin as the host calls it, without WebAssembly: `sh test.sh`.

const std = @import("std");
const host = @import("plugport").testing;

const expect = std.testing.expect;
const expectText = std.testing.expectEqualStrings;

test "greets by name" {
    host.newClient();
    try expectText("Hello, Ada!", host.call("hello", "{\"name\":\"Ada\"}").text);
    try expectText("HELLO, ADA!", host.call("hello", "{\"name\":\"Ada\",\"shout\":true}").text);
    try expectText("info: \"greeting Ada\"\ninfo: \"greeting Ada\"", host.logs());
}

test "asks for a name" {
    host.newClient();
    host.accepts("{\"name\":\"Grace\"}");
    try expectText("Hello, Grace!", host.call("hello", "{}").text);
}

test "greets those who say no name" {
    host.newClient();
    host.declines();
    try expectText("Hello, whoever you are!", host.call("hello", "{}").text);
}

test "refuses what is no name" {
    host.newClient();
    const result = host.call("hello", "{\"name\":7}");
    try expect(result.is_error);
    try expectText(
        "the arguments do not fit the tool's schema: /name: 7 is not of type \"string\"",
        result.text,
    );
}
