//! The SDK's header `plugport.h` for Zig, under the same names; the comments are there.
//!
//! It is written by hand: the types of Zig are narrower than those that a translation of the header has, and the first
//! build need not compile a translator. What is added to the header is added here, in the same order.

// memory.h
pub extern fn pp_alloc(size: usize) [*]u8;
pub extern fn pp_copy(bytes: [*]const u8, length: usize) [*:0]u8;
pub extern fn pp_format(format: [*:0]const u8, ...) [*:0]u8;

// json.h
pub const pp_json_kind = enum(c_uint) { nothing, null, bool, number, text, array, object };
pub const pp_json = opaque {};
pub extern fn pp_json_parse(text: [*]const u8, length: usize, why: ?*?[*:0]const u8) ?*const pp_json;
pub extern fn pp_json_kind_of(value: ?*const pp_json) pp_json_kind;
pub extern fn pp_json_count(value: ?*const pp_json) usize;
pub extern fn pp_json_at(value: ?*const pp_json, index: usize) ?*const pp_json;
pub extern fn pp_json_member(value: ?*const pp_json, key: [*:0]const u8) ?*const pp_json;
pub extern fn pp_json_key(member: ?*const pp_json) ?[*:0]const u8;
pub extern fn pp_json_next(value: ?*const pp_json) ?*const pp_json;
pub extern fn pp_json_text(value: ?*const pp_json, length: ?*usize) ?[*:0]const u8;
pub extern fn pp_json_number(value: ?*const pp_json) f64;
pub extern fn pp_json_integer(value: ?*const pp_json, integer: *i64) bool;
pub extern fn pp_json_is_true(value: ?*const pp_json) bool;
pub extern fn pp_json_source(value: ?*const pp_json) ?[*:0]const u8;

pub const pp_doc = opaque {};
pub extern fn pp_object() *pp_doc;
pub extern fn pp_array() *pp_doc;
pub extern fn pp_put_text(doc: *pp_doc, key: ?[*:0]const u8, text: [*:0]const u8) void;
pub extern fn pp_put_integer(doc: *pp_doc, key: ?[*:0]const u8, integer: i64) void;
pub extern fn pp_put_number(doc: *pp_doc, key: ?[*:0]const u8, number: f64) void;
pub extern fn pp_put_bool(doc: *pp_doc, key: ?[*:0]const u8, value: bool) void;
pub extern fn pp_put_null(doc: *pp_doc, key: ?[*:0]const u8) void;
pub extern fn pp_put_json(doc: *pp_doc, key: ?[*:0]const u8, json: [*:0]const u8) void;
pub extern fn pp_open_object(doc: *pp_doc, key: ?[*:0]const u8) void;
pub extern fn pp_open_array(doc: *pp_doc, key: ?[*:0]const u8) void;
pub extern fn pp_close(doc: *pp_doc) void;
pub extern fn pp_doc_text(doc: *pp_doc) [*:0]const u8;

// args.h
pub const most_params = 12;
pub const pp_kind = enum(c_uint) { none, string, choice, integer, number, bool, json };
pub const pp_param = extern struct {
    kind: pp_kind = .none,
    name: ?[*:0]const u8 = null,
    detail: ?[*:0]const u8 = null,
    ranged: bool = false,
    least: f64 = 0,
    most: f64 = 0,
    lowest: i64 = 0,
    highest: i64 = 0,
    description: ?[*:0]const u8 = null,
    title: ?[*:0]const u8 = null,
    optional: bool = false,
    otherwise: ?[*:0]const u8 = null,
};
pub const pp_params = [most_params]pp_param;

pub const pp_args = opaque {};
pub extern fn pp_has(args: *const pp_args, name: [*:0]const u8) bool;
pub extern fn pp_string(args: *const pp_args, name: [*:0]const u8) ?[*:0]const u8;
pub extern fn pp_integer(args: *const pp_args, name: [*:0]const u8) i64;
pub extern fn pp_number(args: *const pp_args, name: [*:0]const u8) f64;
pub extern fn pp_bool(args: *const pp_args, name: [*:0]const u8) bool;
pub extern fn pp_value(args: *const pp_args, name: [*:0]const u8) ?*const pp_json;

// result.h
pub const pp_result = opaque {};
pub extern fn pp_text(format: [*:0]const u8, ...) *pp_result;
pub extern fn pp_structured(doc: *pp_doc) *pp_result;
pub extern fn pp_bytes(data: [*]const u8, size: usize, mime_type: [*:0]const u8) *pp_result;
pub extern fn pp_nothing() *pp_result;
pub extern fn pp_error(format: [*:0]const u8, ...) *pp_result;
pub extern fn pp_not_found(format: [*:0]const u8, ...) *pp_result;
pub extern fn pp_invalid(format: [*:0]const u8, ...) *pp_result;
pub extern fn pp_add_text(result: *pp_result, format: [*:0]const u8, ...) *pp_result;
pub extern fn pp_add_image(result: *pp_result, data: [*]const u8, size: usize, mime_type: [*:0]const u8) *pp_result;
pub extern fn pp_add_audio(result: *pp_result, data: [*]const u8, size: usize, mime_type: [*:0]const u8) *pp_result;
pub extern fn pp_add_text_resource(
    result: *pp_result,
    uri: [*:0]const u8,
    mime_type: [*:0]const u8,
    text: [*:0]const u8,
) *pp_result;
pub extern fn pp_add_link(result: *pp_result, uri: [*:0]const u8, name: [*:0]const u8) *pp_result;
pub extern fn pp_add_user(result: *pp_result, format: [*:0]const u8, ...) *pp_result;
pub extern fn pp_add_assistant(result: *pp_result, format: [*:0]const u8, ...) *pp_result;
pub extern fn pp_extra(result: *pp_result, json: [*:0]const u8) *pp_result;

pub const pp_failure = extern struct {
    /// An index of `HostError` in failure.zig.
    kind: c_uint,
    message: [*:0]const u8,
    code: i32,
    data: ?[*:0]const u8,
};
pub extern fn pp_failed(failure: *const pp_failure) *pp_result;

// tables.h
pub const pp_handler = fn (call: *pp_call, args: *const pp_args) callconv(.c) *pp_result;
pub const pp_tool = extern struct {
    name: ?[*:0]const u8 = null,
    title: ?[*:0]const u8 = null,
    description: ?[*:0]const u8 = null,
    call: ?*const pp_handler = null,
    hints: c_uint = 0,
    params: pp_params = @splat(.{}),
    returns: pp_params = @splat(.{}),
    input_schema: ?[*:0]const u8 = null,
    output_schema: ?[*:0]const u8 = null,
    extra: ?[*:0]const u8 = null,
};
pub const pp_resource = extern struct {
    uri: ?[*:0]const u8 = null,
    name: ?[*:0]const u8 = null,
    title: ?[*:0]const u8 = null,
    description: ?[*:0]const u8 = null,
    mime_type: ?[*:0]const u8 = null,
    read: ?*const pp_handler = null,
    extra: ?[*:0]const u8 = null,
};
pub const pp_prompt = extern struct {
    name: ?[*:0]const u8 = null,
    title: ?[*:0]const u8 = null,
    description: ?[*:0]const u8 = null,
    get: ?*const pp_handler = null,
    params: pp_params = @splat(.{}),
    extra: ?[*:0]const u8 = null,
};

pub const pp_suggestions = opaque {};
pub const pp_suggester = fn (
    call: *pp_call,
    typed: [*:0]const u8,
    context: *const pp_args,
    out: *pp_suggestions,
) callconv(.c) void;
pub extern fn pp_suggest(out: *pp_suggestions, value: [*:0]const u8) void;
pub extern fn pp_suggest_from(out: *pp_suggestions, typed: [*:0]const u8, choices: [*:0]const u8) void;
pub const pp_completion = extern struct {
    prompt: ?[*:0]const u8 = null,
    uri: ?[*:0]const u8 = null,
    argument: ?[*:0]const u8 = null,
    choices: ?[*:0]const u8 = null,
    suggest: ?*const pp_suggester = null,
};

/// One of the four tables, such as `pp_tool_table`.
pub fn Table(comptime Item: type) type {
    return extern struct { items: [*]const Item, count: usize };
}

// call.h
pub const pp_call = opaque {};
pub extern fn pp_log(call: *pp_call, level: c_uint, logger: ?[*:0]const u8, format: [*:0]const u8, ...) void;
pub extern fn pp_log_doc(call: *pp_call, level: c_uint, logger: ?[*:0]const u8, doc: *pp_doc) void;
pub extern fn pp_progress(call: *pp_call, done: f64, total: f64, message: ?[*:0]const u8) void;
pub extern fn pp_detach(call: *pp_call, status: ?[*:0]const u8) bool;
pub extern fn pp_cancelled(call: *pp_call) bool;

pub const pp_client = extern struct {
    name: [*:0]const u8,
    version: [*:0]const u8,
    protocol: [*:0]const u8,
    sampling: bool,
    elicitation: bool,
    roots: bool,
    extensions: [*]const [*:0]const u8,
    extension_count: usize,
};
pub extern fn pp_client_of(call: *pp_call) pp_client;
pub extern fn pp_supports(call: *pp_call, extension: [*:0]const u8) bool;
pub extern fn pp_principal(call: *pp_call) ?[*:0]const u8;
pub extern fn pp_meta(call: *pp_call) ?*const pp_json;

pub const pp_create_message_request = extern struct {
    text: ?[*:0]const u8 = null,
    system: ?[*:0]const u8 = null,
    max_tokens: i64 = 0,
    params: ?[*:0]const u8 = null,
    key: ?[*:0]const u8 = null,
};
pub const pp_create_message_result = extern struct {
    failure: ?*const pp_failure,
    text: [*:0]const u8,
    body: ?*const pp_json,
};
pub extern fn pp_sample(call: *pp_call, text: [*:0]const u8) pp_create_message_result;
pub extern fn pp_sample_with(call: *pp_call, request: *const pp_create_message_request) pp_create_message_result;

pub const pp_form = extern struct { fields: pp_params = @splat(.{}), key: ?[*:0]const u8 = null };
pub const pp_action = enum(c_uint) { failed, accepted, declined, cancelled };
pub const pp_elicit_result = extern struct {
    action: pp_action,
    failure: ?*const pp_failure,
    values: ?*const pp_args,
};
pub extern fn pp_elicit(call: *pp_call, form: *const pp_form, format: [*:0]const u8, ...) pp_elicit_result;
pub extern fn pp_elicit_url(call: *pp_call, url: [*:0]const u8, format: [*:0]const u8, ...) pp_elicit_result;

pub const pp_root = extern struct { uri: [*:0]const u8, name: ?[*:0]const u8 };
pub const pp_roots = extern struct { failure: ?*const pp_failure, count: usize, items: [*]const pp_root };
pub extern fn pp_list_roots(call: *pp_call) pp_roots;

pub const pp_input_request = extern struct {
    key: ?[*:0]const u8 = null,
    sampling: ?*const pp_create_message_request = null,
    form: ?*const pp_form = null,
    roots: bool = false,
    message: ?[*:0]const u8 = null,
    /// These three are filled in by pp_request_inputs.
    sampled: pp_create_message_result = undefined,
    elicited: pp_elicit_result = undefined,
    found: pp_roots = undefined,
};
pub extern fn pp_request_inputs(call: *pp_call, requests: [*]pp_input_request, count: usize) ?*const pp_failure;

pub extern fn pp_tools_changed() void;
pub extern fn pp_resources_changed() void;
pub extern fn pp_prompts_changed() void;
pub extern fn pp_resource_updated(uri: [*:0]const u8) void;

// http.h
pub const most_headers = 16;
pub const pp_http_field = extern struct { name: ?[*:0]const u8 = null, value: ?[*:0]const u8 = null };
pub const pp_http_request = extern struct {
    method: ?[*:0]const u8 = null,
    url: ?[*:0]const u8 = null,
    headers: [most_headers]pp_http_field = @splat(.{}),
    text: ?[*:0]const u8 = null,
    bytes: ?[*]const u8 = null,
    size: usize = 0,
    in_pieces: bool = false,
    length: u64 = 0,
    timeout_ms: u32 = 0,
    max_body: usize = 0,
};
pub const pp_http_response = extern struct {
    /// 0, or an index of `HttpError` in failure.zig, from 1.
    @"error": c_uint,
    message: [*:0]const u8,
    denied_request: ?[*:0]const u8,
    grant: ?[*:0]const u8,
    limit: ?[*:0]const u8,
    status: c_int,
    headers: [*]const pp_http_field,
    header_count: usize,
    body: [*]const u8,
    size: usize,
    truncated: bool,
};
pub const pp_http_sent = opaque {};
pub extern fn pp_http_send(request: *const pp_http_request) *const pp_http_response;
pub extern fn pp_http_get(url: [*:0]const u8) *const pp_http_response;
pub extern fn pp_http_header(response: *const pp_http_response, name: [*:0]const u8) ?[*:0]const u8;
pub extern fn pp_http_failed(response: *const pp_http_response) *pp_result;
pub extern fn pp_http_start(request: *const pp_http_request) *pp_http_sent;
pub extern fn pp_http_receive(sent: *pp_http_sent) *const pp_http_response;
pub extern fn pp_http_wait(sent: [*]const ?*pp_http_sent, count: usize, timeout_ms: c_int) usize;
pub extern fn pp_http_head(sent: *pp_http_sent) *const pp_http_response;
pub extern fn pp_http_read(sent: *pp_http_sent, buffer: [*]u8, size: usize) usize;
pub extern fn pp_http_write(sent: *pp_http_sent, data: [*]const u8, size: usize) bool;
pub extern fn pp_http_finish(sent: *pp_http_sent) void;
pub extern fn pp_http_close(sent: *pp_http_sent) void;

// kv.h
pub const pp_kv_value = extern struct { failure: ?*const pp_failure, data: ?[*]const u8, size: usize };
pub const pp_kv_presence = extern struct { failure: ?*const pp_failure, exists: bool };
pub const pp_kv_number = extern struct { failure: ?*const pp_failure, number: i64 };
pub const pp_kv_list = extern struct { failure: ?*const pp_failure, count: usize, items: [*]const [*:0]const u8 };
pub extern fn pp_kv_get(key: [*:0]const u8) pp_kv_value;
pub extern fn pp_kv_exists(key: [*:0]const u8) pp_kv_presence;
pub extern fn pp_kv_set(key: [*:0]const u8, data: [*]const u8, size: usize) ?*const pp_failure;
pub extern fn pp_kv_set_text(key: [*:0]const u8, text: [*:0]const u8) ?*const pp_failure;
pub extern fn pp_kv_delete(key: [*:0]const u8) ?*const pp_failure;
pub extern fn pp_kv_increment(key: [*:0]const u8, by: i64) pp_kv_number;
pub extern fn pp_kv_keys() pp_kv_list;
pub const pp_kv_change = fn (state: ?*anyopaque, old: pp_kv_value) callconv(.c) pp_kv_value;
pub extern fn pp_kv_update(key: [*:0]const u8, change: *const pp_kv_change, state: ?*anyopaque) pp_kv_value;
pub extern fn pp_kv_text(format: [*:0]const u8, ...) pp_kv_value;

// config.h
pub const pp_setting = extern struct { failure: ?*const pp_failure, key: ?[*:0]const u8, value: ?[*:0]const u8 };
pub const pp_settings = extern struct { failure: ?*const pp_failure, count: usize, items: [*]const pp_setting };
pub extern fn pp_config(key: [*:0]const u8) pp_setting;
pub extern fn pp_config_require(key: [*:0]const u8) pp_setting;
pub extern fn pp_config_all() pp_settings;
