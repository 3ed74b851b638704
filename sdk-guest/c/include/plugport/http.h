/* Requests to other hosts.
 *
 * The operator grants them by method, scheme, host and port. A redirect is a response like any other: request its
 * `location` if you want to follow it. A request that was started is closed when its body has been read to the end, by
 * pp_http_close, and by the end of the call.
 */
#ifndef PLUGPORT_HTTP_H
#define PLUGPORT_HTTP_H

#include "result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The maximum number of header fields of a request. */
#define PP_MOST_HEADERS 16

typedef struct pp_http_field {
    const char *name, *value;
} pp_http_field;

/* All fields but `url` are optional. */
typedef struct pp_http_request {
    /* in capital letters; GET unless you say otherwise */
    const char *method;
    /* begins with https:// or http:// */
    const char *url;
    /* The host sets `host`, `content-length` and those of the connection. */
    pp_http_field headers[PP_MOST_HEADERS];
    /* the body: a text, or bytes and how many */
    const char *text;
    const void *bytes;
    size_t size;
    /* or one that pp_http_write writes, with its length if that is known */
    bool in_pieces;
    uint64_t length;
    /* how long to wait for a connection, for the response, and for each piece of its body; the host has limits too */
    uint32_t timeout_ms;
    /* how much of the response's body is received, 1 MiB unless you say otherwise; the rest is not fetched */
    size_t max_body;
} pp_http_request;

typedef enum pp_http_error {
    PP_HTTP_OK,
    /* not granted */
    PP_HTTP_DENIED,
    /* The name leads to an address that is not public, and that address is not granted. */
    PP_HTTP_PRIVATE_ADDRESS,
    PP_HTTP_INVALID,
    PP_HTTP_UNKNOWN_HOST,
    PP_HTTP_UNREACHABLE,
    /* The host did not prove who it is, or does not speak TLS. */
    PP_HTTP_TLS,
    PP_HTTP_TIMED_OUT,
    /* a limit of the operator */
    PP_HTTP_OVER_LIMIT,
    /* The server could not send it, for a reason of its own. */
    PP_HTTP_UNSENT,
    /* The response broke off, or is not HTTP. */
    PP_HTTP_BROKEN
} pp_http_error;

typedef struct pp_http_response {
    /* why there is no response, or not all of it; a status such as 404 is no error */
    pp_http_error error;
    /* the error in words for a model; never NULL */
    const char *message;
    /* of PP_HTTP_DENIED: what was not granted, such as "GET https://example.com", and the line of the configuration
     * that would grant it */
    const char *denied_request, *grant;
    /* of PP_HTTP_OVER_LIMIT: the limit's name in the configuration */
    const char *limit;
    int status;
    /* their names are in small letters */
    const pp_http_field *headers;
    size_t header_count;
    /* what was received of the body, with a zero after it; never NULL */
    const char *body;
    size_t size;
    /* whether there is more of the body than `max_body` */
    bool truncated;
} pp_http_response;

/* Sends a request and receives the response. Neither is ever NULL. */
const pp_http_response *pp_http_send(const pp_http_request *request);
const pp_http_response *pp_http_get(const char *url);
/* The value of the first header field of this name, in whatever case, or NULL. */
const char *pp_http_header(const pp_http_response *response, const char *name);
/* Hands on an error; the client gets what MCP has for it. */
pp_result *pp_http_failed(const pp_http_response *response);

/* A request that is under way. */
typedef struct pp_http_sent pp_http_sent;

/* Begins to send a request. Never NULL: if it cannot be sent, its response says so. Several may be under way; the host
 * sends as many at once as its limit `http_parallel` says. */
pp_http_sent *pp_http_start(const pp_http_request *request);
/* Waits for the response and receives its body, or what was not read of it. */
const pp_http_response *pp_http_receive(pp_http_sent *sent);
/* Waits until one of these has news: its response, later more of the body or its end, or an error. The position of the
 * first one; `count` when the time is up, or if all are closed. NULL and what is closed is skipped. A time below 0 is
 * as long as it takes. */
size_t pp_http_wait(pp_http_sent *const *sent, size_t count, int timeout_ms);

/* Waits for the response, but not for its body. An error of the body will stand there too. */
const pp_http_response *pp_http_head(pp_http_sent *sent);
/* Waits for more of the body, and reads at most `size` bytes. 0 at the end, and at an error. */
size_t pp_http_read(pp_http_sent *sent, void *buffer, size_t size);

/* Writes more of a body in pieces. Whether the host took it; if not, the response says why. */
bool pp_http_write(pp_http_sent *sent, const void *data, size_t size);
/* Ends a body in pieces. So do pp_http_head, pp_http_read and pp_http_receive. */
void pp_http_finish(pp_http_sent *sent);

/* Cancels what is still under way. Its response remains. */
void pp_http_close(pp_http_sent *sent);

#ifdef __cplusplus
}
#endif
#endif
