/* What requests to the client share: a result is JSON, or a failure. */
#ifndef PLUGPORT_CLIENT_REQUESTS_H
#define PLUGPORT_CLIENT_REQUESTS_H

#include "internal.h"

/* NULL for no key. */
static inline plugin_string_t *ppi_key(const char *key, plugin_string_t *room)
{
    *room = ppi_lend(key ? key : "");
    return key ? room : NULL;
}

static inline const pp_json *ppi_result_json(plugin_string_t *text, const pp_failure **failure)
{
    size_t length;
    const char *why = NULL;
    const char *lifted = ppi_lift_n(text, &length);
    const pp_json *result = pp_json_parse(lifted, length, &why);
    if (!result) {
        pp_failure *unreadable = pp_alloc(sizeof(pp_failure));
        unreadable->kind = PP_FAILED_INTERNAL;
        unreadable->message = pp_format("the result is not JSON: %s", why);
        *failure = unreadable;
    }
    return result;
}

/* sampling.c */
const char *ppi_create_message_params(const pp_create_message_request *request);
pp_create_message_result ppi_create_message_result(plugin_string_t *answer);

/* elicitation.c */
const char *ppi_form_params(const char *message, const pp_form *form);
pp_elicit_result ppi_elicit_result(const pp_form *form, plugin_string_t *answer);

#endif
