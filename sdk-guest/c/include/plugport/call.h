/* The request being served: its client, its log and progress, and requests to the client.
 *
 * A request to the client waits for its result. What can go wrong is in the result's `failure`, which `pp_failed` hands
 * on.
 */
#ifndef PLUGPORT_CALL_H
#define PLUGPORT_CALL_H

#include "args.h"
#include "result.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pp_call pp_call;

typedef enum pp_level {
    PP_DEBUG,
    PP_INFO,
    PP_NOTICE,
    PP_WARNING,
    PP_ERROR,
    PP_CRITICAL,
    PP_ALERT,
    PP_EMERGENCY
} pp_level;

/* A line for the client's log. `logger` may be NULL. What printf prints goes to the server's log. */
void pp_log(pp_call *call, pp_level level, const char *logger, const char *format, ...) PP_PRINTF(4, 5);
/* Any JSON for the client's log. */
void pp_log_doc(pp_call *call, pp_level level, const char *logger, pp_doc *doc);
/* How far the call is. A `total` below 0 is unknown; `message` may be NULL, or come from pp_format. */
void pp_progress(pp_call *call, double done, double total, const char *message);
/* The client need not wait from here on, if it knows tasks: it gets the id of a task, and fetches the result later.
 * Whether the call is a task now; if not, everything goes on as before. `status` is for people and may be NULL; the
 * messages of pp_progress replace it. */
bool pp_detach(pp_call *call, const char *status);
/* Whether the client no longer waits. */
bool pp_cancelled(pp_call *call);

typedef struct pp_client {
    const char *name, *version;
    /* the revision of MCP */
    const char *protocol;
    /* the requests that the client supports */
    bool sampling, elicitation, roots;
    /* the names of the extensions of MCP that the client declared */
    const char *const *extensions;
    size_t extension_count;
} pp_client;

pp_client pp_client_of(pp_call *call);
/* Whether the client declared this extension, such as "io.modelcontextprotocol/ui". */
bool pp_supports(pp_call *call, const char *extension);
/* Who calls, when the server authenticates its callers; else NULL. */
const char *pp_principal(pp_call *call);
/* The request's _meta, or NULL. */
const pp_json *pp_meta(pp_call *call);

/* A request to the client's model. All fields but `text` are optional. */
typedef struct pp_create_message_request {
    const char *text;
    const char *system;
    /* 1000 unless you say otherwise */
    int64_t max_tokens;
    /* JSON: the whole params of sampling/createMessage, instead of the above */
    const char *params;
    /* the key of the request within the call, if you like */
    const char *key;
} pp_create_message_request;

typedef struct pp_create_message_result {
    const pp_failure *failure;
    /* the texts of it, never NULL */
    const char *text;
    /* the whole result */
    const pp_json *body;
} pp_create_message_result;

pp_create_message_result pp_sample(pp_call *call, const char *text);
pp_create_message_result pp_sample_with(pp_call *call, const pp_create_message_request *request);

/* A form for the person. */
typedef struct pp_form {
    pp_param fields[PP_MOST_PARAMS];
    const char *key;
} pp_form;

typedef enum pp_action { PP_FAILED, PP_ACCEPTED, PP_DECLINED, PP_CANCELLED } pp_action;

typedef struct pp_elicit_result {
    pp_action action;
    const pp_failure *failure;
    /* the form, when the person accepted */
    const pp_args *values;
} pp_elicit_result;

pp_elicit_result pp_elicit(pp_call *call, const pp_form *form, const char *format, ...) PP_PRINTF(3, 4);
/* Sends the person to a web page. */
pp_elicit_result pp_elicit_url(pp_call *call, const char *url, const char *format, ...) PP_PRINTF(3, 4);

typedef struct pp_root {
    const char *uri;
    /* may be NULL */
    const char *name;
} pp_root;

typedef struct pp_roots {
    const pp_failure *failure;
    size_t count;
    const pp_root *items;
} pp_roots;

/* The folders that the person works in. */
pp_roots pp_list_roots(pp_call *call);

/* One of several requests, and its result. */
typedef struct pp_input_request {
    /* the key of the request, which the client may see */
    const char *key;
    /* one of these three */
    const pp_create_message_request *sampling;
    const pp_form *form;
    bool roots;
    /* of a form */
    const char *message;
    /* filled in by pp_request_inputs */
    pp_create_message_result sampled;
    pp_elicit_result elicited;
    pp_roots found;
} pp_input_request;

/* Sends all of them in one round trip. Each result may have its own failure; NULL unless all have failed as one. */
const pp_failure *pp_request_inputs(pp_call *call, pp_input_request *requests, size_t count);

/* Tell the host that lists have changed; the host lists again. */
void pp_tools_changed(void);
void pp_resources_changed(void);
void pp_prompts_changed(void);
void pp_resource_updated(const char *uri);

#ifdef __cplusplus
}
#endif
#endif
