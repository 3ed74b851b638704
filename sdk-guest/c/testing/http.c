/* Other hosts, as the test answers for them. A request is answered when its body is complete. */
#include <stdlib.h>
#include <string.h>

#include "testing.h"

/* The maximum of one piece of a response's body. */
#define PIECE ((size_t)64 << 10)

typedef struct sent {
    struct sent *older;
    pp_http_request request;
    char *body;
    /* its body may grow; to this length, if that was said */
    bool is_open;
    uint64_t left;
    bool is_short;
    bool is_answered;
    pp_http_response answer;
    /* how much of the answer's body was read */
    size_t read;
    int32_t handle;
} sent;

static pp_test_http_answer *responder;
static sent *newest;
static int32_t count;

void ppt_new_http(void)
{
    responder = NULL;
    newest = NULL;
    count = 0;
}

void pp_test_answers_http(pp_test_http_answer *answer)
{
    responder = answer;
}

static sent *sent_of(int32_t handle)
{
    sent *found = newest;
    while (found && found->handle != handle) {
        found = found->older;
    }
    return found;
}

size_t pp_test_http_count(void)
{
    return (size_t)count;
}

const pp_http_request *pp_test_http_request(size_t at)
{
    return at < (size_t)count ? &sent_of((int32_t)at + 1)->request : NULL;
}

/* `http://host:port` of a URL, or NULL. In a component the host reads URLs. */
static const char *origin_of(const char *url)
{
    const char *rest = strstr(url, "://");
    if (!rest || (strncmp(url, "http:", 5) != 0 && strncmp(url, "https:", 6) != 0)) {
        return NULL;
    }
    size_t authority = strcspn(rest + 3, "/?#\\");
    bool plain = strpbrk(url, " \t\r\n\\") == NULL;
    return authority > 0 && plain ? ppt_format("%.*s", (int)(rest - url + 3 + (long)authority), url) : NULL;
}

static bool fail(plugport_plugin_http_client_failure_t *err, pp_http_error error, const char *detail)
{
    memset(err, 0, sizeof *err);
    err->tag = (uint8_t)(error - 1);
    if (error == PP_HTTP_DENIED) {
        err->val.denied.request = ppt_give(detail);
        err->val.denied.grant = ppt_give(ppt_format("http = [\"%s\"]", detail));
    } else if (error == PP_HTTP_INVALID || error >= PP_HTTP_OVER_LIMIT) {
        err->val.invalid = ppt_give(detail);
    }
    return false;
}

/* The failure that the test answers with. */
static bool fail_as(const sent *request, plugport_plugin_http_client_failure_t *err)
{
    const pp_http_response *answer = &request->answer;
    const char *detail = answer->message ? answer->message : "the test says so";
    if (answer->error == PP_HTTP_DENIED) {
        const char *usual = ppt_format("%s %s", request->request.method, origin_of(request->request.url));
        detail = answer->denied_request ? answer->denied_request : usual;
    } else if (answer->error == PP_HTTP_OVER_LIMIT) {
        detail = answer->limit ? answer->limit : "http_ms";
    }
    return fail(err, answer->error, detail);
}

static void append(sent *to, const uint8_t *data, size_t size)
{
    char *body = ppt_keep(to->request.size + size + 1);
    if (to->request.size > 0) {
        memcpy(body, to->body, to->request.size);
    }
    if (size > 0) {
        memcpy(body + to->request.size, data, size);
    }
    to->body = body;
    to->request.size += size;
    to->request.text = body;
    to->request.bytes = body;
}

static sent *record(const plugport_plugin_http_client_request_t *request)
{
    sent *made = ppt_keep(sizeof *made);
    made->request.method = ppt_text(request->method);
    made->request.url = ppt_text(request->url);
    made->request.timeout_ms = request->timeout_ms.is_some ? request->timeout_ms.val : 0;
    for (size_t at = 0; at < request->headers.len && at < PP_MOST_HEADERS; at++) {
        made->request.headers[at].name = ppt_text(request->headers.ptr[at].f0);
        made->request.headers[at].value = ppt_text(request->headers.ptr[at].f1);
    }
    made->is_open = request->body.tag == PLUGPORT_PLUGIN_HTTP_CLIENT_BODY_PIECES;
    made->request.in_pieces = made->is_open;
    made->left = made->is_open && request->body.val.pieces.is_some ? request->body.val.pieces.val : UINT64_MAX;
    append(made, made->is_open ? NULL : request->body.val.bytes.ptr, made->is_open ? 0 : request->body.val.bytes.len);
    made->handle = ++count;
    made->older = newest;
    newest = made;
    return made;
}

static void answer(sent *request)
{
    request->is_open = false;
    if (request->is_answered) {
        return;
    }
    request->is_answered = true;
    request->answer = responder(&request->request);
    if (request->answer.body && request->answer.size == 0) {
        request->answer.size = strlen(request->answer.body);
    }
}

bool plugport_plugin_http_client_send(plugport_plugin_http_client_request_t *request,
                                      plugport_plugin_http_client_own_sent_request_t *ret,
                                      plugport_plugin_http_client_failure_t *err)
{
    sent *made = record(request);
    const char *origin = origin_of(made->request.url);
    ret->__handle = made->handle;
    if (!origin) {
        return fail(err, PP_HTTP_INVALID, ppt_format("`%s` is no URL", made->request.url));
    }
    if (!responder) {
        return fail(err, PP_HTTP_DENIED, ppt_format("%s %s", made->request.method, origin));
    }
    if (!made->is_open) {
        answer(made);
    }
    return true;
}

bool plugport_plugin_http_client_method_sent_request_write(plugport_plugin_http_client_borrow_sent_request_t self,
                                                           plugin_list_u8_t *piece, bool *ret,
                                                           plugport_plugin_http_client_failure_t *err)
{
    sent *request = sent_of(self.__handle);
    if (!request->is_open) {
        return fail(err, PP_HTTP_INVALID, "its body is complete");
    }
    if (piece->len > request->left) {
        return fail(err, PP_HTTP_INVALID, "its body is longer than was said");
    }
    request->left -= request->left == UINT64_MAX ? 0 : piece->len;
    append(request, piece->ptr, piece->len);
    *ret = true;
    return true;
}

void plugport_plugin_http_client_method_sent_request_finish(plugport_plugin_http_client_borrow_sent_request_t self)
{
    sent *request = sent_of(self.__handle);
    request->is_short = request->is_open && request->left > 0 && request->left != UINT64_MAX;
    request->is_answered = request->is_answered || request->is_short;
    answer(request);
}

bool plugport_plugin_http_client_method_sent_request_response(plugport_plugin_http_client_borrow_sent_request_t self,
                                                              plugport_plugin_http_client_response_t *ret,
                                                              plugport_plugin_http_client_failure_t *err)
{
    sent *request = sent_of(self.__handle);
    const pp_http_response *answered = &request->answer;
    answer(request);
    if (request->is_short) {
        return fail(err, PP_HTTP_INVALID, "its body is shorter than was said");
    }
    /* A response that breaks off has begun before. */
    if (answered->error != PP_HTTP_OK && answered->status == 0) {
        return fail_as(request, err);
    }
    ret->status = (uint16_t)answered->status;
    ret->headers.len = answered->header_count;
    ret->headers.ptr = answered->header_count > 0 ? calloc(answered->header_count, sizeof *ret->headers.ptr) : NULL;
    for (size_t at = 0; ret->headers.ptr && at < answered->header_count; at++) {
        ret->headers.ptr[at].f0 = ppt_give(answered->headers[at].name);
        ret->headers.ptr[at].f1 = ppt_give(answered->headers[at].value);
    }
    return true;
}

bool plugport_plugin_http_client_method_sent_request_read(plugport_plugin_http_client_borrow_sent_request_t self,
                                                          plugin_list_u8_t *ret,
                                                          plugport_plugin_http_client_failure_t *err)
{
    sent *request = sent_of(self.__handle);
    size_t left = request->answer.size - request->read;
    if (left == 0 && request->answer.error != PP_HTTP_OK) {
        return fail_as(request, err);
    }
    *ret = ppt_give_bytes(request->answer.body + request->read, left < PIECE ? left : PIECE);
    request->read += ret->len;
    return true;
}

/* All that are answered have news: their bodies are there at once. */
void plugport_plugin_http_client_wait(plugport_plugin_http_client_list_borrow_sent_request_t *requests,
                                      uint32_t *maybe_timeout_ms, plugin_list_u32_t *ret)
{
    (void)maybe_timeout_ms;
    ret->len = 0;
    ret->ptr = requests->len > 0 ? calloc(requests->len, sizeof *ret->ptr) : NULL;
    for (size_t at = 0; ret->ptr && at < requests->len; at++) {
        if (sent_of(requests->ptr[at].__handle)->is_answered) {
            ret->ptr[ret->len++] = (uint32_t)at;
        }
    }
    if (ret->len == 0) {
        free(ret->ptr);
    }
}

plugport_plugin_http_client_borrow_sent_request_t
plugport_plugin_http_client_borrow_sent_request(plugport_plugin_http_client_own_sent_request_t handle)
{
    plugport_plugin_http_client_borrow_sent_request_t borrowed = {handle.__handle};
    return borrowed;
}

void plugport_plugin_http_client_sent_request_drop_own(plugport_plugin_http_client_own_sent_request_t handle)
{
    (void)handle;
}
