/* Requests that the host sends, and their bodies in pieces. */
#include <stdlib.h>

#include "http.h"

#define DEFAULT_MAX_BODY ((size_t)1 << 20)
/* The maximum of one write. */
#define MOST_PIECE ((size_t)64 << 10)

static plugin_list_tuple2_string_string_t lend_headers(const pp_http_request *request)
{
    plugin_list_tuple2_string_string_t lent = {NULL, 0};
    while (lent.len < PP_MOST_HEADERS && request->headers[lent.len].name) {
        lent.len++;
    }
    lent.ptr = pp_alloc(lent.len * sizeof *lent.ptr);
    for (size_t at = 0; at < lent.len; at++) {
        const pp_http_field *field = &request->headers[at];
        lent.ptr[at].f0 = ppi_lend(field->name);
        lent.ptr[at].f1 = ppi_lend(field->value ? field->value : "");
    }
    return lent;
}

static plugport_plugin_http_client_body_t lend_body(const pp_http_request *request)
{
    plugport_plugin_http_client_body_t lent = {.tag = PLUGPORT_PLUGIN_HTTP_CLIENT_BODY_BYTES};
    if (request->in_pieces) {
        lent.tag = PLUGPORT_PLUGIN_HTTP_CLIENT_BODY_PIECES;
        lent.val.pieces.is_some = request->length > 0;
        lent.val.pieces.val = request->length;
    } else if (request->text) {
        lent.val.bytes = ppi_lend_bytes(request->text, strlen(request->text));
    } else {
        lent.val.bytes = ppi_lend_bytes(request->bytes, request->size);
    }
    return lent;
}

static void close_sent(void *state)
{
    pp_http_close(state);
}

pp_http_sent *pp_http_start(const pp_http_request *request)
{
    pp_http_sent *sent = pp_alloc(sizeof *sent);
    plugport_plugin_http_client_failure_t failure;
    plugport_plugin_http_client_request_t lent = {
        .method = ppi_lend(request->method ? request->method : "GET"),
        .url = ppi_lend(request->url ? request->url : ""),
        .headers = lend_headers(request),
        .body = lend_body(request),
        .timeout_ms = {request->timeout_ms > 0, request->timeout_ms},
    };
    sent->response.message = sent->response.body = "";
    sent->max_body = request->max_body > 0 ? request->max_body : DEFAULT_MAX_BODY;
    sent->is_writable = request->in_pieces;
    sent->is_open = plugport_plugin_http_client_send(&lent, &sent->own, &failure);
    if (sent->is_open) {
        ppi_at_end(close_sent, sent);
    } else {
        ppi_http_fail(sent, &failure);
    }
    return sent;
}

bool pp_http_write(pp_http_sent *sent, const void *data, size_t size)
{
    bool taken = sent->is_open && sent->is_writable;
    for (size_t at = 0; taken && at < size;) {
        size_t step = size - at < MOST_PIECE ? size - at : MOST_PIECE;
        plugin_list_u8_t piece = ppi_lend_bytes((const char *)data + at, step);
        plugport_plugin_http_client_failure_t failure;
        if (!plugport_plugin_http_client_method_sent_request_write(ppi_http_handle(sent), &piece, &taken, &failure)) {
            ppi_http_fail(sent, &failure);
            return false;
        }
        at += step;
    }
    return taken;
}

void pp_http_finish(pp_http_sent *sent)
{
    if (sent->is_open && sent->is_writable) {
        plugport_plugin_http_client_method_sent_request_finish(ppi_http_handle(sent));
    }
    sent->is_writable = false;
}

void pp_http_close(pp_http_sent *sent)
{
    if (!sent) {
        return;
    }
    if (sent->is_open) {
        plugport_plugin_http_client_sent_request_drop_own(sent->own);
        sent->is_open = false;
    }
    if (sent->piece.len > 0) {
        free(sent->piece.ptr);
    }
    sent->piece.len = sent->used = 0;
    if (!sent->is_answered) {
        sent->is_answered = sent->is_known = true;
        sent->response.error = PP_HTTP_INVALID;
        sent->response.message = "the request was closed before its response came";
    }
}
