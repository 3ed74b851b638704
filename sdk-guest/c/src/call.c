/* The call: its beginning and end, its log and progress. */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

pp_call ppi_begin(plugport_plugin_request_own_call_t own)
{
    static bool begun;
    if (!begun) {
        /* So that lines are in the log even when the plugin crashes after them. */
        setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
        begun = true;
    }
    pp_call call = {own, plugport_plugin_request_borrow_call(own)};
    return call;
}

void ppi_settle(void)
{
    /* The program does not exit, so printf's buffers must be flushed here. */
    fflush(stdout);
    ppi_forget_all();
}

void ppi_end(pp_call *call)
{
    plugport_plugin_request_call_drop_own(call->own);
    ppi_settle();
}

static void log_json(pp_call *call, pp_level level, const char *logger, const char *json)
{
    plugin_string_t data = ppi_lend(json);
    plugin_string_t name = ppi_lend(logger ? logger : "");
    plugport_plugin_request_method_call_log(call->handle, (plugport_plugin_request_log_level_t)level,
                                            logger ? &name : NULL, &data);
}

void pp_log_doc(pp_call *call, pp_level level, const char *logger, pp_doc *doc)
{
    log_json(call, level, logger, pp_doc_text(doc));
}

void pp_log(pp_call *call, pp_level level, const char *logger, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const char *text = ppi_format(format, values);
    va_end(values);
    pp_doc *doc = pp_array();
    pp_put_text(doc, NULL, text);
    /* What stands between the brackets is the text as JSON. */
    const char *json = pp_doc_text(doc);
    log_json(call, level, logger, pp_copy(json + 1, strlen(json) - 2));
}

void pp_progress(pp_call *call, double done, double total, const char *message)
{
    plugin_string_t text = ppi_lend(message ? message : "");
    plugport_plugin_request_method_call_progress(call->handle, done, total >= 0 ? &total : NULL,
                                                 message ? &text : NULL);
}

bool pp_detach(pp_call *call, const char *status)
{
    plugin_string_t text = ppi_lend(status ? status : "");
    return plugport_plugin_tasks_detach(call->handle, status ? &text : NULL);
}

bool pp_cancelled(pp_call *call)
{
    return plugport_plugin_request_method_call_cancelled(call->handle);
}

static const char *const *lift_all(plugin_list_string_t *texts)
{
    const char **lifted = pp_alloc(texts->len * sizeof *lifted);
    for (size_t at = 0; at < texts->len; at++) {
        lifted[at] = ppi_lift(&texts->ptr[at]);
    }
    if (texts->len > 0) {
        free(texts->ptr);
    }
    return lifted;
}

pp_client pp_client_of(pp_call *call)
{
    plugport_plugin_request_client_info_t info;
    plugport_plugin_request_method_call_client(call->handle, &info);
    pp_client client = {
        .name = ppi_lift(&info.name),
        .version = ppi_lift(&info.version),
        .protocol = ppi_lift(&info.protocol),
        .sampling = info.sampling,
        .elicitation = info.elicitation,
        .roots = info.roots,
        .extensions = lift_all(&info.extensions),
        .extension_count = info.extensions.len,
    };
    return client;
}

bool pp_supports(pp_call *call, const char *extension)
{
    pp_client client = pp_client_of(call);
    for (size_t at = 0; at < client.extension_count; at++) {
        if (strcmp(client.extensions[at], extension) == 0) {
            return true;
        }
    }
    return false;
}

const char *pp_principal(pp_call *call)
{
    plugin_string_t principal;
    return plugport_plugin_request_method_call_principal(call->handle, &principal) ? ppi_lift(&principal) : NULL;
}

const pp_json *pp_meta(pp_call *call)
{
    plugin_string_t meta;
    size_t length;
    if (!plugport_plugin_request_method_call_meta(call->handle, &meta)) {
        return NULL;
    }
    const char *text = ppi_lift_n(&meta, &length);
    return pp_json_parse(text, length, NULL);
}
