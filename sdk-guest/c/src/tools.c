/* The exported interface `tools`: the table as a list, and calls by name. */
#include "internal.h"

static plugin_option_bool_t hint(unsigned hints, unsigned yes, unsigned no)
{
    plugin_option_bool_t said = {(hints & (yes | no)) != 0, (hints & yes) != 0};
    return said;
}

static const char *output_schema_of(const pp_tool *tool)
{
    bool described = ppi_param_count(tool->returns, PP_MOST_PARAMS) > 0;
    return tool->output_schema ? tool->output_schema
           : described         ? ppi_schema(tool->returns, PP_MOST_PARAMS, false)
                               : NULL;
}

static void lower_tool(const pp_tool *tool, exports_plugport_plugin_tools_tool_t *out)
{
    const char *schema = tool->input_schema ? tool->input_schema : ppi_schema(tool->params, PP_MOST_PARAMS, true);
    out->name = ppi_lower(tool->name);
    out->title = ppi_lower_option(tool->title);
    out->description = ppi_lower_option(tool->description);
    out->input_schema = ppi_lower(schema);
    out->output_schema = ppi_lower_option(output_schema_of(tool));
    out->annotations.is_some = tool->hints != 0;
    out->annotations.val.read_only = hint(tool->hints, PP_READ_ONLY, PP_NOT_READ_ONLY);
    out->annotations.val.destructive = hint(tool->hints, PP_DESTRUCTIVE, PP_NOT_DESTRUCTIVE);
    out->annotations.val.idempotent = hint(tool->hints, PP_IDEMPOTENT, PP_NOT_IDEMPOTENT);
    out->annotations.val.open_world = hint(tool->hints, PP_OPEN_WORLD, PP_CLOSED_WORLD);
    out->extra = ppi_lower_option(tool->extra);
}

bool exports_plugport_plugin_tools_list_tools(exports_plugport_plugin_tools_list_tool_t *ret,
                                              exports_plugport_plugin_tools_error_t *err)
{
    (void)err;
    const pp_tool_table *table = &pp_tools_of_plugin;
    ret->len = table->count;
    ret->ptr = ppi_host_alloc(table->count, sizeof *ret->ptr);
    for (size_t at = 0; at < table->count; at++) {
        lower_tool(&table->items[at], &ret->ptr[at]);
    }
    ppi_settle();
    return true;
}

static const pp_tool *find(const char *name)
{
    for (size_t at = 0; at < pp_tools_of_plugin.count; at++) {
        if (strcmp(pp_tools_of_plugin.items[at].name, name) == 0) {
            return &pp_tools_of_plugin.items[at];
        }
    }
    return NULL;
}

static pp_result *run(pp_call *call, const char *name, const char *text, size_t length)
{
    const pp_tool *tool = find(name);
    const char *why = NULL;
    if (!tool) {
        return pp_not_found("there is no tool `%s`", name);
    }
    const pp_json *values = pp_json_parse(text, length, &why);
    if (!values) {
        return pp_invalid("the arguments are not JSON: %s", why);
    }
    pp_args args = {tool->params, ppi_param_count(tool->params, PP_MOST_PARAMS), tool->input_schema != NULL, values};
    const char *argument_error = ppi_argument_error(&args, "tool");
    if (argument_error) {
        return pp_error("%s", argument_error);
    }
    args.values = ppi_filled(&args);
    return tool->call(call, &args);
}

bool exports_plugport_plugin_tools_call_tool(exports_plugport_plugin_tools_own_call_t own, plugin_string_t *name,
                                             plugin_string_t *args, exports_plugport_plugin_tools_tool_result_t *ret,
                                             exports_plugport_plugin_tools_error_t *err)
{
    pp_call call = ppi_begin(own);
    size_t length;
    const char *text = ppi_lift_n(args, &length);
    const pp_result *result = run(&call, ppi_lift(name), text, length);
    const pp_failure *failure = ppi_failure_of(result, true);
    if (failure) {
        ppi_lower_failure(failure, err);
    } else {
        ppi_lower_tool_result(result, ret);
    }
    ppi_end(&call);
    return failure == NULL;
}
