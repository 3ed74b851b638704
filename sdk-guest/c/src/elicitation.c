/* The interface `elicitation`: a form of declared fields, or a page on the web. */
#include "client_requests.h"

const char *ppi_form_params(const char *message, const pp_form *form)
{
    pp_doc *doc = pp_object();
    pp_put_text(doc, "mode", "form");
    pp_put_text(doc, "message", message);
    pp_put_json(doc, "requestedSchema", ppi_schema(form->fields, PP_MOST_PARAMS, false));
    return pp_doc_text(doc);
}

static const char *url_params(const char *message, const char *url)
{
    pp_doc *doc = pp_object();
    pp_put_text(doc, "mode", "url");
    pp_put_text(doc, "message", message);
    pp_put_text(doc, "url", url);
    return pp_doc_text(doc);
}

static const pp_failure *unfit(const char *why)
{
    pp_failure *failure = pp_alloc(sizeof(pp_failure));
    failure->kind = PP_FAILED_INVALID_PARAMS;
    failure->message = pp_format("the answer does not fit the form: %s", why);
    return failure;
}

/* What was filled in, if it fits. */
static void take_values(const pp_form *form, const pp_json *content, pp_elicit_result *elicited)
{
    static const pp_json nothing = {.kind = PP_JSON_OBJECT};
    pp_args *values = pp_alloc(sizeof(pp_args));
    values->params = form ? form->fields : NULL;
    values->count = form ? ppi_param_count(form->fields, PP_MOST_PARAMS) : 0;
    values->values = content ? content : &nothing;
    const char *argument_error = form ? ppi_argument_error(values, NULL) : NULL;
    if (argument_error) {
        elicited->failure = unfit(argument_error);
        return;
    }
    elicited->action = PP_ACCEPTED;
    elicited->values = values;
}

pp_elicit_result ppi_elicit_result(const pp_form *form, plugin_string_t *answer)
{
    pp_elicit_result elicited = {PP_FAILED, NULL, NULL};
    const pp_json *outcome = ppi_result_json(answer, &elicited.failure);
    const char *action = pp_json_text(pp_json_member(outcome, "action"), NULL);
    if (action && strcmp(action, "accept") == 0) {
        take_values(form, pp_json_member(outcome, "content"), &elicited);
    } else if (!elicited.failure) {
        elicited.action = action && strcmp(action, "decline") == 0 ? PP_DECLINED : PP_CANCELLED;
    }
    return elicited;
}

static pp_elicit_result send(pp_call *call, const pp_form *form, const char *body)
{
    plugin_string_t room, answer, params = ppi_lend(body);
    plugport_plugin_types_error_t error;
    if (!plugport_plugin_elicitation_elicit(call->handle, ppi_key(form ? form->key : NULL, &room), &params, &answer,
                                            &error)) {
        pp_elicit_result rejected = {PP_FAILED, ppi_lift_failure(&error), NULL};
        return rejected;
    }
    return ppi_elicit_result(form, &answer);
}

pp_elicit_result pp_elicit(pp_call *call, const pp_form *form, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const char *message = ppi_format(format, values);
    va_end(values);
    return send(call, form, ppi_form_params(message, form));
}

pp_elicit_result pp_elicit_url(pp_call *call, const char *url, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const char *message = ppi_format(format, values);
    va_end(values);
    return send(call, NULL, url_params(message, url));
}
