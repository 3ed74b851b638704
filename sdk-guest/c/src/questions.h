/* What the questions share: an answer is JSON, or a failure. */
#ifndef PLUGPORT_QUESTIONS_H
#define PLUGPORT_QUESTIONS_H

#include "internal.h"

/* NULL for no key. */
static inline plugin_string_t *ppi_key(const char *key, plugin_string_t *room)
{
    *room = ppi_lend(key ? key : "");
    return key ? room : NULL;
}

static inline const pp_json *ppi_answer(plugin_string_t *text, const pp_failure **failure)
{
    size_t length;
    const char *why = NULL;
    const char *lifted = ppi_lift_n(text, &length);
    const pp_json *answer = pp_json_parse(lifted, length, &why);
    if (!answer) {
        pp_failure *unreadable = pp_alloc(sizeof(pp_failure));
        unreadable->kind = PP_FAILED_INTERNAL;
        unreadable->message = pp_format("the answer is not JSON: %s", why);
        *failure = unreadable;
    }
    return answer;
}

/* sample.c */
const char *ppi_sampling_params(const pp_sampling *question);
pp_sampled ppi_sampled(plugin_string_t *answer);

/* elicit.c */
const char *ppi_form_params(const char *message, const pp_form *form);
pp_elicited ppi_elicited(const pp_form *form, plugin_string_t *answer);

#endif
