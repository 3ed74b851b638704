/* Responses: what they begin with, and their bodies, at once or in pieces. */
#include <stdlib.h>
#include <strings.h>

#include "http.h"

static void take_head(pp_http_response *response, plugport_plugin_http_client_response_t *head)
{
    pp_http_field *fields = pp_alloc(head->headers.len * sizeof *fields);
    for (size_t at = 0; at < head->headers.len; at++) {
        fields[at].name = ppi_lift(&head->headers.ptr[at].f0);
        fields[at].value = ppi_lift(&head->headers.ptr[at].f1);
    }
    if (head->headers.len > 0) {
        free(head->headers.ptr);
    }
    response->status = head->status;
    response->headers = fields;
    response->header_count = head->headers.len;
}

const pp_http_response *pp_http_head(pp_http_sent *sent)
{
    plugport_plugin_http_client_response_t head;
    plugport_plugin_http_client_failure_t failure;
    pp_http_finish(sent);
    sent->is_known = true;
    if (sent->is_answered || !sent->is_open) {
        return &sent->response;
    }
    if (plugport_plugin_http_client_method_sent_request_response(ppi_http_handle(sent), &head, &failure)) {
        take_head(&sent->response, &head);
        sent->is_answered = true;
    } else {
        ppi_http_fail(sent, &failure);
    }
    return &sent->response;
}

const uint8_t *ppi_http_piece(pp_http_sent *sent, size_t *size)
{
    plugport_plugin_http_client_failure_t failure;
    pp_http_head(sent);
    if (sent->is_open && sent->used == sent->piece.len) {
        if (sent->piece.len > 0) {
            free(sent->piece.ptr);
        }
        sent->piece.len = sent->used = 0;
        if (!plugport_plugin_http_client_method_sent_request_read(ppi_http_handle(sent), &sent->piece, &failure)) {
            sent->piece.len = 0;
            ppi_http_fail(sent, &failure);
        } else if (sent->piece.len == 0) {
            pp_http_close(sent);
        }
    }
    *size = sent->piece.len - sent->used;
    return *size > 0 ? sent->piece.ptr + sent->used : NULL;
}

size_t pp_http_read(pp_http_sent *sent, void *buffer, size_t size)
{
    size_t ready;
    const uint8_t *piece = size > 0 ? ppi_http_piece(sent, &ready) : NULL;
    if (!piece) {
        return 0;
    }
    size_t taken = ready < size ? ready : size;
    memcpy(buffer, piece, taken);
    sent->used += taken;
    return taken;
}

/* More room for a body, and for a zero after it. What pp_alloc gives stays until the end, so it cannot grow there. */
static char *grown(char *body, size_t *room, size_t needed)
{
    while (*room <= needed) {
        *room = *room > 0 ? *room * 2 : (size_t)16 << 10;
    }
    char *larger = realloc(body, *room);
    if (!larger) {
        ppi_stop(
            "out of memory: the body of a response needs %zu bytes; the operator can raise the plugin's memory_mib",
            *room);
    }
    return larger;
}

const pp_http_response *pp_http_receive(pp_http_sent *sent)
{
    pp_http_response *response = &sent->response;
    char *body = NULL;
    size_t size = 0, room = 0, ready;
    const uint8_t *piece;
    while (!response->truncated && (piece = ppi_http_piece(sent, &ready))) {
        size_t taken = ready < sent->max_body - size ? ready : sent->max_body - size;
        body = size + taken >= room ? grown(body, &room, size + taken) : body;
        memcpy(body + size, piece, taken);
        size += taken;
        sent->used += taken;
        response->truncated = taken < ready;
    }
    if (body) {
        body[size] = '\0';
        ppi_at_end(free, body);
        response->body = body;
        response->size = size;
    }
    pp_http_close(sent);
    return response;
}

const pp_http_response *pp_http_send(const pp_http_request *request)
{
    return pp_http_receive(pp_http_start(request));
}

const pp_http_response *pp_http_get(const char *url)
{
    const pp_http_request request = {.url = url};
    return pp_http_send(&request);
}

const char *pp_http_header(const pp_http_response *response, const char *name)
{
    for (size_t at = 0; at < response->header_count; at++) {
        if (strcasecmp(response->headers[at].name, name) == 0) {
            return response->headers[at].value;
        }
    }
    return NULL;
}
