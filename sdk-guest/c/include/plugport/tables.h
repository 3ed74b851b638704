/* Tables: the items that a plugin lists.
 *
 * Each of PP_TOOLS, PP_RESOURCES, PP_PROMPTS and PP_COMPLETIONS stands at most once in a plugin, at file scope. A table
 * that is not there is empty. They hold constants alone, so nothing runs before a call does.
 */
#ifndef PLUGPORT_TABLES_H
#define PLUGPORT_TABLES_H

#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef pp_result *pp_handler(pp_call *call, const pp_args *args);

/* What a tool does, for clients; where neither a hint nor its opposite stands, nothing is said. */
enum {
    PP_READ_ONLY = 1,
    PP_DESTRUCTIVE = 2,
    PP_IDEMPOTENT = 4,
    PP_OPEN_WORLD = 8,
    PP_NOT_READ_ONLY = 16,
    PP_NOT_DESTRUCTIVE = 32,
    PP_NOT_IDEMPOTENT = 64,
    PP_CLOSED_WORLD = 128
};

typedef struct pp_tool {
    const char *name, *title;
    /* the model reads this to decide when to call the tool */
    const char *description;
    pp_handler *call;
    unsigned hints;
    pp_param params[PP_MOST_PARAMS];
    /* the members of the structured result, if there is one */
    pp_param returns[PP_MOST_PARAMS];
    /* JSON Schemas of your own, instead of the two above; they go out byte for byte */
    const char *input_schema, *output_schema;
    /* a JSON object of further MCP fields */
    const char *extra;
} pp_tool;

typedef struct pp_resource {
    /* with `{word}` in it this is a template (RFC 6570), and its variables are arguments */
    const char *uri;
    const char *name, *title, *description;
    /* text/plain or application/octet-stream unless you say otherwise */
    const char *mime_type;
    pp_handler *read;
    const char *extra;
} pp_resource;

typedef struct pp_prompt {
    const char *name, *title, *description;
    pp_handler *get;
    /* PP_STRINGs */
    pp_param params[PP_MOST_PARAMS];
    const char *extra;
} pp_prompt;

typedef struct pp_suggestions pp_suggestions;

/* `typed` is what stands there so far, `context` the other arguments. */
typedef void pp_suggester(pp_call *call, const char *typed, const pp_args *context, pp_suggestions *out);

void pp_suggest(pp_suggestions *out, const char *value);
/* Those of "a|b|c" that begin with `typed`, in whatever case. */
void pp_suggest_from(pp_suggestions *out, const char *typed, const char *choices);

typedef struct pp_completion {
    /* the prompt's name, or the template's uri */
    const char *prompt, *uri;
    const char *argument;
    /* "a|b|c", or a function */
    const char *choices;
    pp_suggester *suggest;
} pp_completion;

typedef struct pp_tool_table {
    const pp_tool *items;
    size_t count;
} pp_tool_table;
typedef struct pp_resource_table {
    const pp_resource *items;
    size_t count;
} pp_resource_table;
typedef struct pp_prompt_table {
    const pp_prompt *items;
    size_t count;
} pp_prompt_table;
typedef struct pp_completion_table {
    const pp_completion *items;
    size_t count;
} pp_completion_table;

extern const pp_tool_table pp_tools_of_plugin;
extern const pp_resource_table pp_resources_of_plugin;
extern const pp_prompt_table pp_prompts_of_plugin;
extern const pp_completion_table pp_completions_of_plugin;

#define PP_TABLE(kind, items, table, ...)                                \
    static const kind items[] = {__VA_ARGS__};                           \
    const kind##_table table = {items, sizeof(items) / sizeof(items[0])}

#define PP_TOOLS(...) PP_TABLE(pp_tool, pp_tool_items, pp_tools_of_plugin, __VA_ARGS__)
#define PP_RESOURCES(...) PP_TABLE(pp_resource, pp_resource_items, pp_resources_of_plugin, __VA_ARGS__)
#define PP_PROMPTS(...) PP_TABLE(pp_prompt, pp_prompt_items, pp_prompts_of_plugin, __VA_ARGS__)
#define PP_COMPLETIONS(...) PP_TABLE(pp_completion, pp_completion_items, pp_completions_of_plugin, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
