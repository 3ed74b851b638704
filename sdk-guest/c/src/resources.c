/* The exported interface `resources`: single ones and templates, from one table. */
#include "internal.h"

static bool is_template(const pp_resource *resource)
{
    return strchr(resource->uri, '{') != NULL;
}

static size_t count_of(bool templates)
{
    size_t count = 0;
    for (size_t at = 0; at < pp_resources_of_plugin.count; at++) {
        count += is_template(&pp_resources_of_plugin.items[at]) == templates;
    }
    return count;
}

bool exports_plugport_plugin_resources_list_resources(exports_plugport_plugin_resources_list_resource_descriptor_t *ret,
                                                      exports_plugport_plugin_resources_error_t *err)
{
    (void)err;
    ret->len = 0;
    ret->ptr = ppi_host_alloc(count_of(false), sizeof *ret->ptr);
    for (size_t at = 0; at < pp_resources_of_plugin.count; at++) {
        const pp_resource *resource = &pp_resources_of_plugin.items[at];
        if (!is_template(resource)) {
            exports_plugport_plugin_resources_resource_descriptor_t *out = &ret->ptr[ret->len++];
            out->uri = ppi_lower(resource->uri);
            out->name = ppi_lower(resource->name);
            out->title = ppi_lower_option(resource->title);
            out->description = ppi_lower_option(resource->description);
            out->mime_type = ppi_lower_option(resource->mime_type);
            out->extra = ppi_lower_option(resource->extra);
        }
    }
    ppi_settle();
    return true;
}

bool exports_plugport_plugin_resources_list_resource_templates(
    exports_plugport_plugin_resources_list_resource_template_t *ret, exports_plugport_plugin_resources_error_t *err)
{
    (void)err;
    ret->len = 0;
    ret->ptr = ppi_host_alloc(count_of(true), sizeof *ret->ptr);
    for (size_t at = 0; at < pp_resources_of_plugin.count; at++) {
        const pp_resource *resource = &pp_resources_of_plugin.items[at];
        if (is_template(resource)) {
            exports_plugport_plugin_resources_resource_template_t *out = &ret->ptr[ret->len++];
            out->uri_template = ppi_lower(resource->uri);
            out->name = ppi_lower(resource->name);
            out->title = ppi_lower_option(resource->title);
            out->description = ppi_lower_option(resource->description);
            out->mime_type = ppi_lower_option(resource->mime_type);
            out->extra = ppi_lower_option(resource->extra);
        }
    }
    ppi_settle();
    return true;
}

static const pp_resource *find(const char *uri, bool among_templates)
{
    for (size_t at = 0; at < pp_resources_of_plugin.count; at++) {
        const pp_resource *resource = &pp_resources_of_plugin.items[at];
        if (is_template(resource) == among_templates && strcmp(resource->uri, uri) == 0) {
            return resource;
        }
    }
    return NULL;
}

/* A single resource goes before the template that the host has found for the URI. */
bool exports_plugport_plugin_resources_read_resource(
    exports_plugport_plugin_resources_own_call_t own, plugin_string_t *uri,
    exports_plugport_plugin_resources_matched_template_t *matched,
    exports_plugport_plugin_resources_list_resource_contents_t *ret, exports_plugport_plugin_resources_error_t *err)
{
    pp_call call = ppi_begin(own);
    const char *wanted = ppi_lift(uri);
    const char *uri_template = matched ? ppi_lift(&matched->uri_template) : "";
    const pp_resource *single = find(wanted, false), *resource = single ? single : find(uri_template, true);
    /* Lifting also frees what the host handed over. */
    const pp_json *lifted = matched ? ppi_lift_pairs(&matched->variables) : NULL;
    const pp_json *variables = lifted && !single ? lifted : ppi_json_new(PP_JSON_OBJECT);
    pp_args args = {NULL, 0, true, variables};
    const pp_result *result = resource ? resource->read(&call, &args) : pp_not_found("there is no resource %s", wanted);
    const pp_failure *failure = ppi_failure_of(result, false);
    if (failure) {
        ppi_lower_failure(failure, err);
    } else {
        ppi_lower_contents(result, wanted, resource ? resource->mime_type : NULL, ret);
    }
    ppi_end(&call);
    return failure == NULL;
}
