/* The exported interface `prompts`. */
#include <stdlib.h>

#include "internal.h"

static void lower_prompt(const pp_prompt *prompt, exports_plugport_plugin_prompts_prompt_t *out)
{
    size_t count = ppi_param_count(prompt->params, PP_MOST_PARAMS);
    out->name = ppi_lower(prompt->name);
    out->title = ppi_lower_option(prompt->title);
    out->description = ppi_lower_option(prompt->description);
    out->arguments.len = count;
    out->arguments.ptr = ppi_host_alloc(count, sizeof *out->arguments.ptr);
    for (size_t at = 0; at < count; at++) {
        out->arguments.ptr[at].name = ppi_lower(prompt->params[at].name);
        out->arguments.ptr[at].title = ppi_lower_option(prompt->params[at].title);
        out->arguments.ptr[at].description = ppi_lower_option(prompt->params[at].description);
        out->arguments.ptr[at].required = !ppi_is_optional(&prompt->params[at]);
    }
    out->extra = ppi_lower_option(prompt->extra);
}

bool exports_plugport_plugin_prompts_list_prompts(exports_plugport_plugin_prompts_list_prompt_t *ret,
                                                  exports_plugport_plugin_prompts_error_t *err)
{
    (void)err;
    ret->len = pp_prompts_of_plugin.count;
    ret->ptr = ppi_host_alloc(pp_prompts_of_plugin.count, sizeof *ret->ptr);
    for (size_t at = 0; at < pp_prompts_of_plugin.count; at++) {
        lower_prompt(&pp_prompts_of_plugin.items[at], &ret->ptr[at]);
    }
    ppi_settle();
    return true;
}

const pp_json *ppi_lift_pairs(plugin_list_tuple2_string_string_t *pairs)
{
    pp_json *values = ppi_json_new(PP_JSON_OBJECT);
    for (size_t at = 0; at < pairs->len; at++) {
        size_t key_length, length;
        const char *key = ppi_lift_n(&pairs->ptr[at].f0, &key_length);
        const char *text = ppi_lift_n(&pairs->ptr[at].f1, &length);
        pp_json *value = ppi_json_of_text(text, length);
        value->key = key;
        value->key_length = key_length;
        ppi_json_add(values, value);
    }
    if (pairs->len > 0) {
        free(pairs->ptr);
    }
    return values;
}

static const pp_prompt *find(const char *name)
{
    for (size_t at = 0; at < pp_prompts_of_plugin.count; at++) {
        if (strcmp(pp_prompts_of_plugin.items[at].name, name) == 0) {
            return &pp_prompts_of_plugin.items[at];
        }
    }
    return NULL;
}

static pp_result *run(pp_call *call, const pp_prompt *prompt, const pp_json *values)
{
    pp_args args = {prompt->params, ppi_param_count(prompt->params, PP_MOST_PARAMS), false, values};
    const char *argument_error = ppi_argument_error(&args, "prompt");
    return argument_error ? pp_invalid("%s", argument_error) : prompt->get(call, &args);
}

bool exports_plugport_plugin_prompts_get_prompt(exports_plugport_plugin_prompts_own_call_t own, plugin_string_t *name,
                                                plugin_list_tuple2_string_string_t *args,
                                                exports_plugport_plugin_prompts_prompt_result_t *ret,
                                                exports_plugport_plugin_prompts_error_t *err)
{
    pp_call call = ppi_begin(own);
    const char *wanted = ppi_lift(name);
    const pp_json *values = ppi_lift_pairs(args);
    const pp_prompt *prompt = find(wanted);
    const pp_result *result = prompt ? run(&call, prompt, values) : pp_not_found("there is no prompt `%s`", wanted);
    const pp_failure *failure = ppi_failure_of(result, false);
    if (failure) {
        ppi_lower_failure(failure, err);
    } else {
        ppi_lower_messages(result, ret);
    }
    ppi_end(&call);
    return failure == NULL;
}
