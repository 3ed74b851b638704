/* The imports of a plugin, implemented by a client that the test scripts. */
#include <stdlib.h>
#include <string.h>

#include "testing.h"

#define MOST_ROOTS 16
#define MOST_EXTENSIONS 16

/* A response that a test gave. */
typedef struct response {
    struct response *next;
    const char *json;
} response;

/* Those to requests of one kind, in their order. A client that ever had one has the capability. */
typedef struct responses {
    bool able;
    response *first, *last;
} responses;

typedef struct client {
    responses sample, elicit;
    const char *root_uris[MOST_ROOTS], *root_names[MOST_ROOTS];
    size_t roots;
    const char *extensions[MOST_EXTENSIONS];
    size_t extension_count;
    bool denies, cancelled;
    const char *logs, *progress, *request, *changes;
} client;

static client now;

void pp_test_new_client(void)
{
    static const client nobody;
    now = nobody;
    ppt_new_http();
    ppt_new_store();
    ppt_new_config();
}

const char *ppt_quoted(const char *text, size_t length)
{
    pp_doc *doc = pp_array();
    ppi_put_quoted(doc, text, length);
    const char *json = pp_doc_text(doc);
    return ppt_format("%.*s", (int)strlen(json) - 2, json + 1);
}

static void respond_with(responses *all, const char *json)
{
    response *made = ppt_keep(sizeof *made);
    made->next = NULL;
    made->json = json;
    if (all->first) {
        all->last->next = made;
    } else {
        all->first = made;
    }
    all->last = made;
    all->able = true;
}

void pp_test_samples(const char *text)
{
    const char *content = ppt_format("{\"type\":\"text\",\"text\":%s}", ppt_quoted(text, strlen(text)));
    respond_with(&now.sample, ppt_format("{\"role\":\"assistant\",\"content\":%s,\"model\":\"test\"}", content));
}

void pp_test_accepts(const char *json)
{
    respond_with(&now.elicit, ppt_format("{\"action\":\"accept\",\"content\":%s}", json));
}

void pp_test_visits(void)
{
    respond_with(&now.elicit, "{\"action\":\"accept\"}");
}

void pp_test_declines(void)
{
    respond_with(&now.elicit, "{\"action\":\"decline\"}");
}

void pp_test_closes(void)
{
    respond_with(&now.elicit, "{\"action\":\"cancel\"}");
}

void pp_test_has_root(const char *uri, const char *name)
{
    if (now.roots < MOST_ROOTS) {
        now.root_uris[now.roots] = uri;
        now.root_names[now.roots++] = name;
    }
}

void pp_test_has_extension(const char *name)
{
    if (now.extension_count < MOST_EXTENSIONS) {
        now.extensions[now.extension_count++] = name;
    }
}

void pp_test_denies(void)
{
    now.denies = true;
}

bool ppt_is_denied(void)
{
    return now.denies;
}

void pp_test_cancels(void)
{
    now.cancelled = true;
}

static const char *seen(const char *lines)
{
    return lines ? lines : "";
}

const char *pp_test_logs(void)
{
    return seen(now.logs);
}

const char *pp_test_progress(void)
{
    return seen(now.progress);
}

const char *pp_test_changes(void)
{
    return seen(now.changes);
}

const char *pp_test_request(void)
{
    return now.request;
}

static const char *with_line(const char *lines, const char *line)
{
    return lines ? ppt_format("%s\n%s", lines, line) : line;
}

void plugport_plugin_request_method_call_log(plugport_plugin_request_borrow_call_t self,
                                             plugport_plugin_request_log_level_t level, plugin_string_t *logger,
                                             plugin_string_t *data)
{
    static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                         "error", "critical", "alert",  "emergency"};
    (void)self;
    const char *name = logger ? ppt_format(" %s", ppt_text(*logger)) : "";
    now.logs = with_line(now.logs, ppt_format("%s%s: %s", levels[level & 7], name, ppt_text(*data)));
}

void plugport_plugin_request_method_call_progress(plugport_plugin_request_borrow_call_t self, double progress,
                                                  double *total, plugin_string_t *message)
{
    (void)self;
    const char *of = total ? ppt_format("/%g", *total) : "";
    const char *text = message ? ppt_format(" %s", ppt_text(*message)) : "";
    now.progress = with_line(now.progress, ppt_format("%g%s%s", progress, of, text));
}

/* This client knows no tasks, so it waits. */
bool plugport_plugin_tasks_detach(plugport_plugin_tasks_borrow_call_t call, plugin_string_t *status)
{
    (void)call, (void)status;
    return false;
}

bool plugport_plugin_request_method_call_cancelled(plugport_plugin_request_borrow_call_t self)
{
    (void)self;
    return now.cancelled;
}

void plugport_plugin_request_method_call_client(plugport_plugin_request_borrow_call_t self,
                                                plugport_plugin_request_client_info_t *ret)
{
    (void)self;
    ret->name = ppt_give("test");
    ret->version = ppt_give("0.1.0");
    ret->protocol = ppt_give("2026-07-28");
    ret->sampling = now.sample.able;
    ret->elicitation = now.elicit.able;
    ret->roots = now.roots > 0;
    ret->extensions.len = now.extension_count;
    ret->extensions.ptr = NULL;
    if (now.extension_count > 0) {
        ret->extensions.ptr = calloc(now.extension_count, sizeof *ret->extensions.ptr);
    }
    for (size_t at = 0; ret->extensions.ptr && at < now.extension_count; at++) {
        ret->extensions.ptr[at] = ppt_give(now.extensions[at]);
    }
}

bool plugport_plugin_request_method_call_principal(plugport_plugin_request_borrow_call_t self, plugin_string_t *ret)
{
    (void)self, (void)ret;
    return false;
}

bool plugport_plugin_request_method_call_meta(plugport_plugin_request_borrow_call_t self, plugin_string_t *ret)
{
    (void)self, (void)ret;
    return false;
}

/* Whether the client responds; if not, why. */
static bool answers(bool able, const char *what, plugport_plugin_types_error_t *error)
{
    memset(error, 0, sizeof *error);
    if (now.denies) {
        error->tag = PLUGPORT_PLUGIN_TYPES_ERROR_DENIED;
        error->val.denied = ppt_give(ppt_format("this server does not grant `%s` to the plugin", what));
    } else if (!able) {
        error->tag = PLUGPORT_PLUGIN_TYPES_ERROR_MISSING_CAPABILITY;
        error->val.missing_capability = ppt_give(what);
    }
    return able && !now.denies;
}

/* Why the server does not pass on a response to this request, or NULL. */
static const char *response_fault(const char *params, const char *json)
{
    const pp_json *form = pp_json_member(pp_json_parse(params, strlen(params), NULL), "requestedSchema");
    const pp_json *result = pp_json_parse(json, strlen(json), NULL);
    const char *action = pp_json_text(pp_json_member(result, "action"), NULL);
    bool is_filled = form && action && strcmp(action, "accept") == 0;
    return is_filled ? ppt_form_fault(form, pp_json_member(result, "content")) : NULL;
}

static bool ask(responses *all, const char *what, plugin_string_t *params, plugin_string_t *ret,
                plugport_plugin_types_error_t *error)
{
    now.request = ppt_text(*params);
    if (!answers(all->able, what, error)) {
        return false;
    }
    const response *next = all->first;
    if (!next) {
        error->tag = PLUGPORT_PLUGIN_TYPES_ERROR_INTERNAL;
        error->val.internal = ppt_give(ppt_format("the test has no more responses for %s", what));
        return false;
    }
    all->first = next->next;
    const char *why = response_fault(now.request, next->json);
    if (why) {
        error->tag = PLUGPORT_PLUGIN_TYPES_ERROR_RPC;
        error->val.rpc.code = -32603;
        error->val.rpc.message = ppt_give(ppt_format("the client's response cannot be used: %s", why));
        return false;
    }
    *ret = ppt_give(next->json);
    return true;
}

bool plugport_plugin_sampling_create_message(plugport_plugin_sampling_borrow_call_t call, plugin_string_t *key,
                                             plugin_string_t *params, plugin_string_t *ret,
                                             plugport_plugin_sampling_error_t *err)
{
    (void)call, (void)key;
    return ask(&now.sample, "sampling", params, ret, err);
}

bool plugport_plugin_elicitation_elicit(plugport_plugin_elicitation_borrow_call_t call, plugin_string_t *key,
                                        plugin_string_t *params, plugin_string_t *ret,
                                        plugport_plugin_elicitation_error_t *err)
{
    (void)call, (void)key;
    return ask(&now.elicit, "elicitation", params, ret, err);
}

bool plugport_plugin_roots_list_roots(plugport_plugin_roots_borrow_call_t call, plugin_string_t *key,
                                      plugport_plugin_roots_list_root_t *ret, plugport_plugin_roots_error_t *err)
{
    (void)call, (void)key;
    if (!answers(now.roots > 0, "roots", err)) {
        return false;
    }
    ret->len = now.roots;
    ret->ptr = calloc(now.roots, sizeof *ret->ptr);
    for (size_t at = 0; ret->ptr && at < now.roots; at++) {
        ret->ptr[at].uri = ppt_give(now.root_uris[at]);
        ret->ptr[at].name.is_some = now.root_names[at] != NULL;
        if (now.root_names[at]) {
            ret->ptr[at].name.val = ppt_give(now.root_names[at]);
        }
    }
    return true;
}

static const char *roots_as_json(void)
{
    pp_doc *doc = pp_object();
    pp_open_array(doc, "roots");
    for (size_t at = 0; at < now.roots; at++) {
        pp_open_object(doc, NULL);
        pp_put_text(doc, "uri", now.root_uris[at]);
        if (now.root_names[at]) {
            pp_put_text(doc, "name", now.root_names[at]);
        }
        pp_close(doc);
    }
    return pp_doc_text(doc);
}

static void respond(const plugport_plugin_inputs_input_request_t *request,
                    plugport_plugin_inputs_input_response_t *answer)
{
    plugin_string_t params = request->body.val.elicit, *text = &answer->outcome.val.ok;
    plugport_plugin_types_error_t error;
    bool answered;
    answer->key = ppt_give(ppt_text(request->key));
    if (request->body.tag == PLUGPORT_PLUGIN_INPUTS_BODY_CREATE_MESSAGE) {
        answered = ask(&now.sample, "sampling", &params, text, &error);
    } else if (request->body.tag == PLUGPORT_PLUGIN_INPUTS_BODY_ELICIT) {
        answered = ask(&now.elicit, "elicitation", &params, text, &error);
    } else {
        answered = answers(now.roots > 0, "roots", &error);
        *text = ppt_give(answered ? roots_as_json() : "");
    }
    answer->outcome.is_err = !answered;
    if (!answered) {
        answer->outcome.val.err = error;
    }
}

bool plugport_plugin_inputs_request_inputs(plugport_plugin_inputs_borrow_call_t call,
                                           plugport_plugin_inputs_list_input_request_t *requests,
                                           plugport_plugin_inputs_list_input_response_t *ret,
                                           plugport_plugin_inputs_error_t *err)
{
    (void)call;
    if (now.denies) {
        return answers(true, "sampling", err);
    }
    ret->len = requests->len;
    ret->ptr = requests->len > 0 ? calloc(requests->len, sizeof *ret->ptr) : NULL;
    for (size_t at = 0; ret->ptr && at < requests->len; at++) {
        respond(&requests->ptr[at], &ret->ptr[at]);
    }
    return true;
}

void plugport_plugin_changes_list_changed(plugport_plugin_changes_listing_t listing)
{
    static const char *const listings[] = {"tools", "resources", "prompts"};
    now.changes = with_line(now.changes, listings[listing % 3]);
}

void plugport_plugin_changes_resource_updated(plugin_string_t *uri)
{
    now.changes = with_line(now.changes, ppt_format("resource %s", ppt_text(*uri)));
}

plugport_plugin_request_borrow_call_t plugport_plugin_request_borrow_call(plugport_plugin_request_own_call_t handle)
{
    plugport_plugin_request_borrow_call_t borrowed = {handle.__handle};
    return borrowed;
}

void plugport_plugin_request_call_drop_own(plugport_plugin_request_own_call_t handle)
{
    (void)handle;
}
