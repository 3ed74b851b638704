/* The interface `inputs`: several requests in one round trip.
 *
 * The author's array holds the requests and takes the results, so that neither can be mixed up with another's.
 */
#include <stdlib.h>

#include "client_requests.h"

static void lend_request(const pp_input_request *request, plugport_plugin_inputs_input_request_t *out)
{
    if (!request->key) {
        ppi_stop("each request of pp_request_inputs needs a .key");
    }
    out->key = ppi_lend(request->key);
    if (request->sampling) {
        out->body.tag = PLUGPORT_PLUGIN_INPUTS_BODY_CREATE_MESSAGE;
        out->body.val.create_message = ppi_lend(ppi_create_message_params(request->sampling));
    } else if (request->form) {
        const char *message = request->message ? request->message : "";
        out->body.tag = PLUGPORT_PLUGIN_INPUTS_BODY_ELICIT;
        out->body.val.elicit = ppi_lend(ppi_form_params(message, request->form));
    } else {
        out->body.tag = PLUGPORT_PLUGIN_INPUTS_BODY_LIST_ROOTS;
    }
}

static pp_roots roots_in(plugin_string_t *answer)
{
    pp_roots roots = {NULL, 0, NULL};
    const pp_json *list = pp_json_member(ppi_result_json(answer, &roots.failure), "roots");
    pp_root *items = pp_alloc(pp_json_count(list) * sizeof(pp_root));
    for (const pp_json *root = pp_json_at(list, 0); root; root = pp_json_next(root)) {
        const char *uri = pp_json_text(pp_json_member(root, "uri"), NULL);
        if (uri) {
            items[roots.count].uri = uri;
            items[roots.count++].name = pp_json_text(pp_json_member(root, "name"), NULL);
        }
    }
    roots.items = items;
    return roots;
}

static void fail(pp_input_request *request, const pp_failure *failure)
{
    request->sampled = (pp_create_message_result){failure, "", NULL};
    request->elicited = (pp_elicit_result){PP_FAILED, failure, NULL};
    request->found = (pp_roots){failure, 0, NULL};
}

static void take_response(pp_input_request *request, plugport_plugin_inputs_input_response_t *response)
{
    if (response->outcome.is_err) {
        fail(request, ppi_lift_failure(&response->outcome.val.err));
    } else if (request->sampling) {
        request->sampled = ppi_create_message_result(&response->outcome.val.ok);
    } else if (request->form) {
        request->elicited = ppi_elicit_result(request->form, &response->outcome.val.ok);
    } else {
        request->found = roots_in(&response->outcome.val.ok);
    }
}

static pp_input_request *named(pp_input_request *requests, size_t count, const char *key)
{
    for (size_t at = 0; at < count; at++) {
        if (strcmp(requests[at].key, key) == 0) {
            return &requests[at];
        }
    }
    return NULL;
}

const pp_failure *pp_request_inputs(pp_call *call, pp_input_request *requests, size_t count)
{
    static const pp_failure unanswered = {PP_FAILED_INTERNAL, "the client did not respond to this request", 0, NULL};
    plugport_plugin_inputs_list_input_request_t sent = {pp_alloc(count * sizeof *sent.ptr), count};
    plugport_plugin_inputs_list_input_response_t responses = {NULL, 0};
    plugport_plugin_types_error_t error;
    for (size_t at = 0; at < count; at++) {
        lend_request(&requests[at], &sent.ptr[at]);
    }
    bool answered = plugport_plugin_inputs_request_inputs(call->handle, &sent, &responses, &error);
    const pp_failure *failure = answered ? NULL : ppi_lift_failure(&error);
    for (size_t at = 0; at < count; at++) {
        fail(&requests[at], failure ? failure : &unanswered);
    }
    for (size_t at = 0; answered && at < responses.len; at++) {
        pp_input_request *request = named(requests, count, ppi_lift(&responses.ptr[at].key));
        if (request) {
            take_response(request, &responses.ptr[at]);
        }
    }
    if (answered && responses.len > 0) {
        free(responses.ptr);
    }
    return failure;
}
