/* Waiting for several requests. */
#include <stdlib.h>

#include "http.h"

/* Whether this has news that the host does not know of: it could not be sent, or a piece of its body is half read. */
static bool has_news(const pp_http_sent *sent)
{
    return sent && ((sent->is_answered && !sent->is_known) || sent->used < sent->piece.len);
}

static size_t first_with_news(pp_http_sent *const *sent, size_t count)
{
    size_t at = 0;
    while (at < count && !has_news(sent[at])) {
        at++;
    }
    return at;
}

/* The position among all of the one that is the `nth` open one. */
static size_t position(pp_http_sent *const *sent, size_t count, size_t nth)
{
    for (size_t at = 0; at < count; at++) {
        if (sent[at] && sent[at]->is_open && nth-- == 0) {
            return at;
        }
    }
    return count;
}

static size_t wait_for(pp_http_sent *const *sent, size_t count,
                       plugport_plugin_http_client_list_borrow_sent_request_t *open, int timeout_ms)
{
    uint32_t time = timeout_ms > 0 ? (uint32_t)timeout_ms : 0;
    plugin_list_u32_t news = {NULL, 0};
    for (size_t at = 0; at < count; at++) {
        if (sent[at] && sent[at]->is_open) {
            open->ptr[open->len++] = ppi_http_handle(sent[at]);
        }
    }
    if (open->len == 0) {
        return count;
    }
    plugport_plugin_http_client_wait(open, timeout_ms < 0 ? NULL : &time, &news);
    size_t found = news.len > 0 ? position(sent, count, news.ptr[0]) : count;
    if (news.len > 0) {
        free(news.ptr);
    }
    return found;
}

size_t pp_http_wait(pp_http_sent *const *sent, size_t count, int timeout_ms)
{
    size_t found = first_with_news(sent, count);
    if (found < count || count == 0) {
        return found;
    }
    plugport_plugin_http_client_list_borrow_sent_request_t open = {calloc(count, sizeof *open.ptr), 0};
    if (!open.ptr) {
        ppi_stop("out of memory: %zu requests were waited for", count);
    }
    found = wait_for(sent, count, &open, timeout_ms);
    free(open.ptr);
    return found;
}
