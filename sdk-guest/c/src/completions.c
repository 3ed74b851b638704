/* The exported interface `completions`. Clients get at most a hundred values; the others are only counted. */
#include "internal.h"

#define MOST_VALUES 100

struct pp_suggestions {
    const char *values[MOST_VALUES];
    size_t count;
};

void pp_suggest(pp_suggestions *out, const char *value)
{
    if (out->count < MOST_VALUES) {
        out->values[out->count] = pp_copy(value, strlen(value));
    }
    out->count++;
}

typedef struct typed_choice {
    pp_suggestions *out;
    const char *typed;
} typed_choice;

static char lowered(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter | 0x20) : letter;
}

static void suggest_fitting(void *state, const char *choice, size_t length)
{
    const typed_choice *wanted = state;
    size_t at = 0;
    while (at < length && wanted->typed[at] && lowered(choice[at]) == lowered(wanted->typed[at])) {
        at++;
    }
    if (!wanted->typed[at]) {
        pp_suggest(wanted->out, pp_copy(choice, length));
    }
}

void pp_suggest_from(pp_suggestions *out, const char *typed, const char *choices)
{
    typed_choice wanted = {out, typed};
    ppi_each_choice(choices, suggest_fitting, &wanted);
}

static bool is_target(const char *name, const char *wanted)
{
    return name && strcmp(name, wanted) == 0;
}

static const pp_completion *find(bool of_prompt, const char *name, const char *argument)
{
    for (size_t at = 0; at < pp_completions_of_plugin.count; at++) {
        const pp_completion *found = &pp_completions_of_plugin.items[at];
        if (is_target(of_prompt ? found->prompt : found->uri, name) && strcmp(found->argument, argument) == 0) {
            return found;
        }
    }
    return NULL;
}

static void run(pp_call *call, const pp_completion *completion, const char *typed, const pp_json *context,
                pp_suggestions *out)
{
    pp_args args = {NULL, 0, true, context};
    if (completion->choices) {
        pp_suggest_from(out, typed, completion->choices);
    }
    if (completion->suggest) {
        completion->suggest(call, typed, &args, out);
    }
}

static void lower_suggestions(const pp_suggestions *found, exports_plugport_plugin_completions_completion_t *ret)
{
    size_t shown = found->count < MOST_VALUES ? found->count : MOST_VALUES;
    ret->values.len = shown;
    ret->values.ptr = ppi_host_alloc(shown, sizeof *ret->values.ptr);
    for (size_t at = 0; at < shown; at++) {
        ret->values.ptr[at] = ppi_lower(found->values[at]);
    }
    ret->total.is_some = true;
    ret->total.val = (uint32_t)found->count;
    ret->has_more = found->count > shown;
}

bool exports_plugport_plugin_completions_complete(exports_plugport_plugin_completions_own_call_t own,
                                                  exports_plugport_plugin_completions_target_t *target,
                                                  plugin_string_t *argument, plugin_string_t *value,
                                                  plugin_list_tuple2_string_string_t *context,
                                                  exports_plugport_plugin_completions_completion_t *ret,
                                                  exports_plugport_plugin_completions_error_t *err)
{
    (void)err;
    pp_call call = ppi_begin(own);
    pp_suggestions *found = pp_alloc(sizeof(pp_suggestions));
    const pp_json *others = ppi_lift_pairs(context);
    const char *typed = ppi_lift(value);
    /* Both targets are one string at the same place. */
    const char *name = ppi_lift(&target->val.prompt);
    bool of_prompt = target->tag == EXPORTS_PLUGPORT_PLUGIN_COMPLETIONS_TARGET_PROMPT;
    const pp_completion *completion = find(of_prompt, name, ppi_lift(argument));
    if (completion) {
        run(&call, completion, typed, others, found);
    }
    lower_suggestions(found, ret);
    ppi_end(&call);
    return true;
}
