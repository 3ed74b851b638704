/* Why there is no response, in messages that a tool may show to a model. They leave out the line of the configuration,
 * which is for the operator.
 */
#include "http.h"

/* The text of a failure that carries one. They all stand at the same place. */
static const char *detail_of(plugport_plugin_http_client_failure_t *failure)
{
    switch (failure->tag) {
    case PLUGPORT_PLUGIN_HTTP_CLIENT_FAILURE_DENIED:
        return ppi_lift(&failure->val.denied.request);
    case PLUGPORT_PLUGIN_HTTP_CLIENT_FAILURE_INVALID:
    case PLUGPORT_PLUGIN_HTTP_CLIENT_FAILURE_OVER_LIMIT:
    case PLUGPORT_PLUGIN_HTTP_CLIENT_FAILURE_UNSENT:
    case PLUGPORT_PLUGIN_HTTP_CLIENT_FAILURE_BROKEN:
        return ppi_lift(&failure->val.invalid);
    default:
        return "";
    }
}

static const char *message_of(pp_http_error error, const char *detail)
{
    switch (error) {
    case PP_HTTP_DENIED:
        return pp_format("this server does not grant the request %s to the plugin", detail);
    case PP_HTTP_PRIVATE_ADDRESS:
        return "the name leads to an address that is not public, and this server does not grant that";
    case PP_HTTP_INVALID:
        return pp_format("the request cannot be sent: %s", detail);
    case PP_HTTP_UNKNOWN_HOST:
        return "there is no host of this name";
    case PP_HTTP_UNREACHABLE:
        return "the host cannot be reached";
    case PP_HTTP_TLS:
        return "the host did not prove who it is, or does not speak TLS";
    case PP_HTTP_TIMED_OUT:
        return "the host took too long to answer";
    case PP_HTTP_OVER_LIMIT:
        return pp_format("the request is beyond what this server allows (limit `%s`)", detail);
    case PP_HTTP_UNSENT:
        return pp_format("the request could not be sent: %s", detail);
    case PP_HTTP_BROKEN:
        return pp_format("the answer is broken: %s", detail);
    default:
        return "";
    }
}

void ppi_http_fail(pp_http_sent *sent, plugport_plugin_http_client_failure_t *failure)
{
    pp_http_response *response = &sent->response;
    const char *detail = detail_of(failure);
    /* The errors are numbered as in the WIT, after PP_HTTP_OK. */
    response->error = (pp_http_error)(failure->tag + 1);
    response->message = message_of(response->error, detail);
    if (response->error == PP_HTTP_DENIED) {
        response->denied_request = detail;
        response->grant = ppi_lift(&failure->val.denied.grant);
    } else if (response->error == PP_HTTP_OVER_LIMIT) {
        response->limit = detail;
    }
    sent->is_answered = true;
    pp_http_close(sent);
}

pp_result *pp_http_failed(const pp_http_response *response)
{
    bool denied = response->error == PP_HTTP_DENIED || response->error == PP_HTTP_PRIVATE_ADDRESS;
    bool over = response->error == PP_HTTP_OVER_LIMIT;
    const pp_failure failure = {
        .kind = denied ? PP_FAILED_DENIED
                : over ? PP_FAILED_OVER_BUDGET
                       : PP_FAILED_INTERNAL,
        .message = response->message,
    };
    return pp_failed(&failure);
}
