/* The interface `sampling`: requests to the client's model. */
#include "client_requests.h"

static const char *written(const pp_create_message_request *request)
{
    pp_doc *doc = pp_object();
    pp_open_array(doc, "messages");
    pp_open_object(doc, NULL);
    pp_put_text(doc, "role", "user");
    pp_open_object(doc, "content");
    pp_put_text(doc, "type", "text");
    pp_put_text(doc, "text", request->text ? request->text : "");
    pp_close(doc);
    pp_close(doc);
    pp_close(doc);
    pp_put_integer(doc, "maxTokens", request->max_tokens > 0 ? request->max_tokens : 1000);
    if (request->system) {
        pp_put_text(doc, "systemPrompt", request->system);
    }
    return pp_doc_text(doc);
}

/* The texts of one piece of content, or of an array of them. */
static const char *text_of(const pp_json *content)
{
    const char *text = pp_json_text(pp_json_member(content, "text"), NULL);
    if (pp_json_kind_of(content) != PP_JSON_ARRAY) {
        return text ? text : "";
    }
    const char *joined = "";
    for (const pp_json *piece = pp_json_at(content, 0); piece; piece = pp_json_next(piece)) {
        const char *part = pp_json_text(pp_json_member(piece, "text"), NULL);
        joined = part ? pp_format("%s%s", joined, part) : joined;
    }
    return joined;
}

const char *ppi_create_message_params(const pp_create_message_request *request)
{
    return request->params ? request->params : written(request);
}

pp_create_message_result ppi_create_message_result(plugin_string_t *answer)
{
    pp_create_message_result sampled = {NULL, "", NULL};
    sampled.body = ppi_result_json(answer, &sampled.failure);
    sampled.text = text_of(pp_json_member(sampled.body, "content"));
    return sampled;
}

pp_create_message_result pp_sample_with(pp_call *call, const pp_create_message_request *request)
{
    plugin_string_t room, answer, params = ppi_lend(ppi_create_message_params(request));
    plugport_plugin_types_error_t error;
    if (!plugport_plugin_sampling_create_message(call->handle, ppi_key(request->key, &room), &params, &answer,
                                                 &error)) {
        pp_create_message_result rejected = {ppi_lift_failure(&error), "", NULL};
        return rejected;
    }
    return ppi_create_message_result(&answer);
}

pp_create_message_result pp_sample(pp_call *call, const char *text)
{
    pp_create_message_request request = {text, NULL, 0, NULL, NULL};
    return pp_sample_with(call, &request);
}
