//! The layer for Zig: what comes in as arguments, and what goes out as results.

const std = @import("std");
const host = @import("plugport").testing;

const expect = std.testing.expect;
const expectText = std.testing.expectEqualStrings;

test "arguments have the types of the fields" {
    host.newClient();
    const all =
        \\{"text":"a","tiny":-7,"whole":3,"part":1.5,"yes":true,"tone":"formal","words":["b","c"],"shape":{"sides":4}}
    ;
    try expectText("a -7 3 1.5 true formal 2 4", host.call("kinds", all).text);
    try expectText("a 1 -1 0.5 null friendly 0 0", host.call("kinds", "{\"text\":\"a\",\"tiny\":1}").text);
    try expectText("a 1 -1 0.5 null friendly 0 0", host.call("kinds",
        \\{"text":"a","tiny":1,"yes":null,"shape":null}
    ).text);
}

test "what may be missing in a struct may be missing in a list of them" {
    host.newClient();
    const shapes = "{\"shapes\":[{},{\"sides\":4,\"name\":null},{\"sides\":null,\"name\":\"ab\"},{\"sides\":1.0}]}";
    try expectText("13", host.call("sides", shapes).text);
    try expect(host.call("sides", "{\"shapes\":[{\"sides\":256}]}").is_error);
}

test "a text in a list may have U+0000" {
    host.newClient();
    try expectText("a 1 -1 0.5 null friendly 3 0", host.call("kinds",
        \\{"text":"a","tiny":1,"words":["a\u0000b"]}
    ).text);
}

test "what does not fit is rejected" {
    host.newClient();
    for ([_][2][:0]const u8{
        .{ "{\"text\":\"a\",\"tiny\":128}", "/tiny: " },
        .{ "{\"text\":\"a\",\"tiny\":1,\"tone\":\"x\"}", "/tone: " },
        .{ "{\"tiny\":1}", "/text: is required and missing" },
        .{ "{\"text\":\"a\",\"tiny\":1,\"words\":[1]}", "/words/0: " },
    }) |case| {
        const result = host.call("kinds", case[0]);
        try expect(result.is_error);
        errdefer std.debug.print("{s} is missing in {s}\n", .{ case[1], result.text });
        try expect(std.mem.find(u8, result.text, case[1]) != null);
    }
}

test "the schema is that of the fields" {
    const schema = host.inputSchema("kinds");
    for ([_][]const u8{
        "\"tiny\":{\"type\":\"integer\",\"minimum\":-128,\"maximum\":127,\"description\":\"A small number.\"}",
        "\"whole\":{\"type\":\"integer\",\"description\":\"A number.\",\"default\":-1}",
        "\"tone\":{\"type\":\"string\",\"enum\":[\"formal\",\"friendly\"],\"description\":\"How.\",\"default\":\"friendly\"}",
        "\"words\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"Words.\",\"default\":[]}",
        "\"properties\":{\"sides\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":255,\"default\":3},",
        "\"name\":{\"type\":\"string\"}},\"required\":[],\"additionalProperties\":false",
        "\"required\":[\"text\",\"tiny\"]",
    }) |part| {
        errdefer std.debug.print("{s} is missing in {s}\n", .{ part, schema });
        try expect(std.mem.find(u8, schema, part) != null);
    }
}

test "a struct is structured content" {
    host.newClient();
    const made = host.call("sum", "{\"a\":1,\"b\":2}").structured.?;
    try expectText("{\"sum\":3,\"words\":[\"a\",\"b\"],\"shape\":{\"sides\":2}}", made);
    const result = host.call("sum", "{\"a\":2147483647,\"b\":1}");
    try expect(result.is_error);
    try expectText("the tool failed: Overflow", result.text);
}

test "errors of the host are told in its words, unless the tool has others" {
    host.newClient();
    try expectText("1 1", host.call("count", "{\"key\":\"x\"}").text);
    try expectText("`by` is 0; pass another number", host.call("count", "{\"key\":\"x\",\"by\":0}").text);
    host.hasSecret("token", "t");
    try expectText("t", host.call("setting", "{\"key\":\"token\"}").text);
    try expect(std.mem.find(u8, host.call("setting", "{\"key\":\"other\"}").text, "other") != null);
    host.denies();
    const denied = host.call("count", "{\"key\":\"x\"}");
    try expect(!denied.is_error and std.mem.startsWith(u8, denied.text, "not counted: this server does not grant"));
}

test "the model is asked" {
    host.newClient();
    try expect(host.call("ask", "{}").failed);
    host.samples("That.");
    try expectText("That.", host.call("ask", "{}").text);
    try expect(std.mem.find(u8, host.request().?, "What?") != null);
    try expect(host.call("ask", "{}").failed);
}

fn page(sent: host.HttpRequest) host.HttpAnswer {
    if (std.mem.endsWith(u8, sent.url, "/a")) {
        return .{ .body = "hello" };
    }
    return .{ .status = 404 };
}

test "other hosts are answered for" {
    host.newClient();
    try expect(host.call("fetch", "{\"url\":\"https://a.test/a\"}").failed);
    host.answersHttp(page);
    try expectText("200 hello", host.call("fetch", "{\"url\":\"https://a.test/a\"}").text);
    try expectText("404 ", host.call("fetch", "{\"url\":\"https://a.test/b\"}").text);
    try expect(host.httpCount() == 3);
    try expectText("https://a.test/b", host.httpRequest(2).url);
}

fn headed(sent: host.HttpRequest) host.HttpAnswer {
    if (std.mem.endsWith(u8, sent.url, "/late")) {
        return .{ .err = error.TimedOut };
    }
    if (std.mem.endsWith(u8, sent.url, "/many")) {
        return .{ .err = error.OverLimit, .detail = "http_requests" };
    }
    if (std.mem.endsWith(u8, sent.url, "/torn")) {
        return .{ .status = 200, .body = "he", .err = error.Broken, .detail = "it broke off" };
    }
    return .{ .headers = &.{.{ .name = "x-kind", .value = "!" }}, .body = "hello" };
}

test "other hosts answer with headers and with errors" {
    host.newClient();
    host.answersHttp(headed);
    try expectText("200 hello!", host.call("fetch", "{\"url\":\"https://a.test/\"}").text);
    try expectText("text/plain", host.httpRequest(0).header("Accept").?);
    try expect(host.httpRequest(0).header("x-kind") == null);
    const late = host.call("fetch", "{\"url\":\"https://a.test/late\"}");
    try expect(late.failed and late.err.? == error.Internal);
    try expectText("the host took too long to answer", late.text);
    const many = host.call("fetch", "{\"url\":\"https://a.test/many\"}");
    try expect(many.failed and many.err.? == error.OverBudget);
    try expectText("the request is beyond what this server allows (limit `http_requests`)", many.text);
    const torn = host.call("fetch", "{\"url\":\"https://a.test/torn\"}");
    try expectText("the answer is broken: it broke off", torn.text);
}

test "a result that does not fit its schema is rejected" {
    host.newClient();
    try expectText("{\"ratio\":1}", host.call("ratio", "{\"ratio\":1}").structured.?);
    const result = host.call("ratio", "{\"ratio\":2}");
    try expect(result.is_error and !result.failed and result.err == null and result.structured == null);
    try expectText("the tool returned an invalid result: its structured content does not fit its schema: " ++
        "/ratio: 2 is greater than the maximum of 1", result.text);
    try expect(std.mem.find(u8, host.outputSchema("ratio").?, "\"maximum\":1") != null);
    try expect(std.mem.find(u8, host.outputSchema("sum").?, "\"note\"") != null);
    try expect(host.outputSchema("picture") == null);
}

test "bytes are told with their type" {
    host.newClient();
    const result = host.call("picture", "{}");
    try expectText("png", result.data);
    try expectText("image/png", result.mime_type.?);
}

test "progress and changes are told" {
    host.newClient();
    try expectText("1 1", host.call("count", "{\"key\":\"x\"}").text);
    try expectText("1 counting", host.progress());
    try expectText("", host.changes());
}

test "a client declares extensions, and waits for a call that detaches" {
    host.newClient();
    try expectText("false none false false", host.call("apps", "{}").text);
    host.hasExtension("io.modelcontextprotocol/ui");
    try expectText("true io.modelcontextprotocol/ui false false", host.call("apps", "{}").text);
}

test "tables of the SDK for C are published too" {
    try expectText("Hello", host.read("zig://greeting").text);
    try expectText("Item 7", host.readTemplate("zig://item/{id}", "zig://item/7", "{\"id\":\"7\"}").text);
    try expectText("user: Hello", host.prompt("greet", "{\"name\":\"Ada\"}").text);
    try expectText("Ada|Alan", host.complete("greet", "name", "a"));
}
