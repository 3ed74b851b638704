/* What the parts of requests to other hosts share. */
#ifndef PLUGPORT_SRC_HTTP_H
#define PLUGPORT_SRC_HTTP_H

#include "internal.h"

struct pp_http_sent {
    plugport_plugin_http_client_own_sent_request_t own;
    /* the host has it */
    bool is_open;
    /* pieces of its body may come */
    bool is_writable;
    /* there is a status or an error */
    bool is_answered;
    /* the plugin has seen that */
    bool is_known;
    size_t max_body;
    /* what the host gave of the response's body, and how much of it was read */
    plugin_list_u8_t piece;
    size_t used;
    pp_http_response response;
};

static inline plugport_plugin_http_client_borrow_sent_request_t ppi_http_handle(const pp_http_sent *sent)
{
    return plugport_plugin_http_client_borrow_sent_request(sent->own);
}

/* http_error.c */
void ppi_http_fail(pp_http_sent *sent, plugport_plugin_http_client_failure_t *failure);

/* http_response.c: the rest of a piece, or the next one; NULL at the end. */
const uint8_t *ppi_http_piece(pp_http_sent *sent, size_t *size);

#endif
