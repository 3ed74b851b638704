/* Calls as the host makes them, and what they return as a test wants to see it. */
#include <stdlib.h>
#include <string.h>

#include "testing.h"

static const plugport_plugin_request_own_call_t own = {1};

static void add_text(pp_test_result *result, const char *role, const char *text)
{
    result->text = *result->text ? ppt_format("%s\n%s%s", result->text, role, text) : ppt_format("%s%s", role, text);
}

static void add_bytes(pp_test_result *result, const plugin_list_u8_t *bytes, const plugin_string_t *type)
{
    result->data = bytes->ptr;
    result->size = bytes->len;
    result->mime_type = type ? ppt_text(*type) : NULL;
}

static void add_resource(pp_test_result *result, const plugport_plugin_types_resource_contents_t *contents)
{
    const plugin_string_t *type = contents->mime_type.is_some ? &contents->mime_type.val : NULL;
    if (contents->data.tag == PLUGPORT_PLUGIN_TYPES_RESOURCE_DATA_TEXT) {
        add_text(result, "", ppt_text(contents->data.val.text));
        result->mime_type = type ? ppt_text(*type) : NULL;
    } else {
        add_bytes(result, &contents->data.val.blob, type);
    }
}

static void add_content(pp_test_result *result, const char *role, const plugport_plugin_types_content_t *content)
{
    switch (content->data.tag) {
    case PLUGPORT_PLUGIN_TYPES_CONTENT_DATA_TEXT:
        add_text(result, role, ppt_text(content->data.val.text));
        break;
    case PLUGPORT_PLUGIN_TYPES_CONTENT_DATA_IMAGE:
    case PLUGPORT_PLUGIN_TYPES_CONTENT_DATA_AUDIO:
        add_bytes(result, &content->data.val.image.data, &content->data.val.image.mime_type);
        break;
    case PLUGPORT_PLUGIN_TYPES_CONTENT_DATA_EMBEDDED:
        add_resource(result, &content->data.val.embedded);
        break;
    default:
        add_text(result, role, ppt_text(content->data.val.link.uri));
    }
}

static pp_test_result empty(void)
{
    pp_test_result result = {.text = ""};
    return result;
}

static void add_failure(pp_test_result *result, const plugport_plugin_types_error_t *error)
{
    result->failed = true;
    result->failure = (pp_failure_kind)error->tag;
    bool has_text = error->tag != PLUGPORT_PLUGIN_TYPES_ERROR_TIMED_OUT &&
                    error->tag != PLUGPORT_PLUGIN_TYPES_ERROR_CANCELLED;
    bool is_rpc = error->tag == PLUGPORT_PLUGIN_TYPES_ERROR_RPC;
    result->text = has_text ? ppt_text(is_rpc ? error->val.rpc.message : error->val.internal) : "";
}

pp_test_result ppt_call(const char *tool, const char *args)
{
    pp_test_result result = empty();
    plugin_string_t name = ppt_give(tool), json = ppt_give(args);
    exports_plugport_plugin_tools_tool_result_t ok;
    plugport_plugin_types_error_t error;
    if (!exports_plugport_plugin_tools_call_tool(own, &name, &json, &ok, &error)) {
        add_failure(&result, &error);
        return result;
    }
    for (size_t at = 0; at < ok.content.len; at++) {
        add_content(&result, "", &ok.content.ptr[at]);
    }
    result.count = ok.content.len;
    result.is_error = ok.is_error;
    result.structured = ok.structured.is_some ? ppt_text(ok.structured.val) : NULL;
    return result;
}

pp_test_result pp_test_call(const char *tool, const char *args)
{
    pp_test_result result = empty();
    if (ppt_validate(tool, &args, &result)) {
        result = ppt_call(tool, args);
        ppt_validate_result(tool, &result);
    }
    return result;
}

/* The members of a JSON object, all of them texts. */
static plugin_list_tuple2_string_string_t pairs_of(const char *json)
{
    const pp_json *values = pp_json_parse(json, strlen(json), NULL);
    plugin_list_tuple2_string_string_t pairs = {NULL, 0};
    pairs.ptr = pp_json_count(values) > 0 ? calloc(pp_json_count(values), sizeof *pairs.ptr) : NULL;
    for (const pp_json *value = pp_json_at(values, 0); value && pairs.ptr; value = pp_json_next(value)) {
        const char *text = pp_json_text(value, NULL);
        pairs.ptr[pairs.len].f0 = ppt_give(pp_json_key(value));
        pairs.ptr[pairs.len++].f1 = ppt_give(text ? text : pp_json_source(value));
    }
    return pairs;
}

static pp_test_result read_resource(const char *uri, exports_plugport_plugin_resources_matched_template_t *matched)
{
    pp_test_result result = empty();
    plugin_string_t wanted = ppt_give(uri);
    exports_plugport_plugin_resources_list_resource_contents_t ok;
    plugport_plugin_types_error_t error;
    if (!exports_plugport_plugin_resources_read_resource(own, &wanted, matched, &ok, &error)) {
        add_failure(&result, &error);
        return result;
    }
    for (size_t at = 0; at < ok.len; at++) {
        add_resource(&result, &ok.ptr[at]);
    }
    result.count = ok.len;
    return result;
}

pp_test_result pp_test_read(const char *uri)
{
    return read_resource(uri, NULL);
}

pp_test_result pp_test_read_template(const char *uri_template, const char *uri, const char *variables)
{
    exports_plugport_plugin_resources_matched_template_t matched = {ppt_give(uri_template), pairs_of(variables)};
    return read_resource(uri, &matched);
}

pp_test_result pp_test_prompt(const char *prompt, const char *args)
{
    pp_test_result result = empty();
    plugin_string_t name = ppt_give(prompt);
    plugin_list_tuple2_string_string_t pairs = pairs_of(args);
    exports_plugport_plugin_prompts_prompt_result_t ok;
    plugport_plugin_types_error_t error;
    if (!exports_plugport_plugin_prompts_get_prompt(own, &name, &pairs, &ok, &error)) {
        add_failure(&result, &error);
        return result;
    }
    for (size_t at = 0; at < ok.messages.len; at++) {
        bool user = ok.messages.ptr[at].role == PLUGPORT_PLUGIN_TYPES_ROLE_USER;
        add_content(&result, user ? "user: " : "assistant: ", &ok.messages.ptr[at].content);
    }
    result.count = ok.messages.len;
    return result;
}

const char *pp_test_complete(const char *prompt, const char *argument, const char *typed)
{
    exports_plugport_plugin_completions_target_t target = {.tag = EXPORTS_PLUGPORT_PLUGIN_COMPLETIONS_TARGET_PROMPT};
    target.val.prompt = ppt_give(prompt);
    plugin_string_t name = ppt_give(argument), value = ppt_give(typed);
    plugin_list_tuple2_string_string_t context = {NULL, 0};
    exports_plugport_plugin_completions_completion_t ok;
    plugport_plugin_types_error_t error;
    if (!exports_plugport_plugin_completions_complete(own, &target, &name, &value, &context, &ok, &error)) {
        return "";
    }
    const char *values = "";
    for (size_t at = 0; at < ok.values.len; at++) {
        values = ppt_format("%s%s%s", values, at > 0 ? "|" : "", ppt_text(ok.values.ptr[at]));
    }
    return values;
}

static const exports_plugport_plugin_tools_tool_t *listed(const char *tool)
{
    static exports_plugport_plugin_tools_list_tool_t list;
    exports_plugport_plugin_tools_error_t error;
    exports_plugport_plugin_tools_list_tools(&list, &error);
    for (size_t at = 0; at < list.len; at++) {
        if (strcmp(ppt_text(list.ptr[at].name), tool) == 0) {
            return &list.ptr[at];
        }
    }
    return NULL;
}

const char *pp_test_input_schema(const char *tool)
{
    const exports_plugport_plugin_tools_tool_t *found = listed(tool);
    return found ? ppt_text(found->input_schema) : NULL;
}

const char *pp_test_output_schema(const char *tool)
{
    const exports_plugport_plugin_tools_tool_t *found = listed(tool);
    return found && found->output_schema.is_some ? ppt_text(found->output_schema.val) : NULL;
}
