/* Requests to other hosts, which a function of the test answers. */
#include <string.h>

#include "../src/internal.h"
#include "tests.h"

static pp_http_response echoes(const pp_http_request *request)
{
    static const pp_http_field fields[] = {{"content-type", "text/plain"}, {"x-a", "b"}};
    pp_http_response answer = {.status = 200, .headers = fields, .header_count = 2};
    answer.body = pp_format("%s %s", request->method, request->text);
    return answer;
}

static pp_http_response counts(const pp_http_request *request)
{
    pp_http_response answer = {.status = strstr(request->url, "lost") ? 404 : 200};
    answer.body = strrchr(request->url, '/') + 1;
    if (strstr(request->url, "late")) {
        answer = (pp_http_response){.error = PP_HTTP_TIMED_OUT};
    }
    return answer;
}

static void without_an_answer_requests_are_denied(void)
{
    pp_test_new_client();
    const pp_http_response *response = pp_http_get("https://a.test:8443/x?secret");
    PP_CHECK(response->error == PP_HTTP_DENIED && response->status == 0 && !response->limit);
    PP_CHECK_TEXT(response->denied_request, "GET https://a.test:8443");
    PP_CHECK_TEXT(response->grant, "http = [\"GET https://a.test:8443\"]");
    PP_CHECK_TEXT(response->message, "this server does not grant the request GET https://a.test:8443 to the plugin");
    PP_CHECK_TEXT(response->body, "");
    PP_CHECK(ppi_failure_of(pp_http_failed(response), true)->kind == PP_FAILED_DENIED);
    PP_CHECK(pp_http_get("nowhere")->error == PP_HTTP_INVALID);
    PP_CHECK_TEXT(pp_http_get("ftp://a.test")->message, "the request cannot be sent: `ftp://a.test` is no URL");
    PP_CHECK(pp_test_http_count() == 3 && !pp_test_http_request(3));
}

static void requests_are_answered_and_seen(void)
{
    pp_test_new_client();
    pp_test_answers_http(echoes);
    const pp_http_request request = {
        .method = "PUT",
        .url = "https://a.test/",
        .headers = {{"Accept", "*/*"}, {"x-n", NULL}},
        .text = "hello",
        .timeout_ms = 500,
        .max_body = 5,
    };
    const pp_http_response *response = pp_http_send(&request);
    PP_CHECK(response->error == PP_HTTP_OK && response->status == 200 && response->truncated && response->size == 5);
    PP_CHECK_TEXT(response->body, "PUT h");
    PP_CHECK_TEXT(response->message, "");
    PP_CHECK_TEXT(pp_http_header(response, "Content-Type"), "text/plain");
    PP_CHECK(!pp_http_header(response, "content"));
    const pp_http_request *seen = pp_test_http_request(0);
    PP_CHECK_TEXT(seen->headers[0].name, "Accept");
    PP_CHECK_TEXT(seen->headers[1].value, "");
    PP_CHECK(seen->timeout_ms == 500 && seen->size == 5 && !seen->headers[2].name);
    const pp_http_request bytes = {.url = "http://a.test", .bytes = "a\0b", .size = 3};
    PP_CHECK_TEXT(pp_http_send(&bytes)->body, "GET a");
    PP_CHECK(memcmp(pp_test_http_request(1)->bytes, "a\0b", 3) == 0 && pp_test_http_request(1)->size == 3);
}

static pp_http_error wanted;

static pp_http_response fails(const pp_http_request *request)
{
    (void)request;
    return (pp_http_response){.error = wanted, .message = "because", .limit = "http_requests"};
}

static void every_error_has_its_words(void)
{
    static const char *const words[] = {
        "this server does not grant the request GET https://a.test to the plugin",
        "the name leads to an address that is not public, and this server does not grant that",
        "the request cannot be sent: because",
        "there is no host of this name",
        "the host cannot be reached",
        "the host did not prove who it is, or does not speak TLS",
        "the host took too long to answer",
        "the request is beyond what this server allows (limit `http_requests`)",
        "the request could not be sent: because",
        "the answer is broken: because",
    };
    pp_test_new_client();
    pp_test_answers_http(fails);
    for (wanted = PP_HTTP_DENIED; wanted <= PP_HTTP_BROKEN; wanted++) {
        const pp_http_response *response = pp_http_get("https://a.test/x");
        PP_CHECK(response->error == wanted && (response->limit != NULL) == (wanted == PP_HTTP_OVER_LIMIT));
        PP_CHECK_TEXT(response->message, words[wanted - 1]);
        pp_failure_kind kind = wanted <= PP_HTTP_PRIVATE_ADDRESS ? PP_FAILED_DENIED
                               : wanted == PP_HTTP_OVER_LIMIT    ? PP_FAILED_OVER_BUDGET
                                                                 : PP_FAILED_INTERNAL;
        PP_CHECK(ppi_failure_of(pp_http_failed(response), true)->kind == kind);
    }
}

static void several_are_under_way_and_each_has_its_outcome(void)
{
    pp_test_new_client();
    pp_test_answers_http(counts);
    const char *urls[] = {"https://a.test/1", "x", "https://a.test/lost", "https://a.test/late"};
    pp_http_sent *sent[5] = {NULL};
    for (size_t at = 0; at < 4; at++) {
        pp_http_request request = {.url = urls[at]};
        sent[at] = pp_http_start(&request);
    }
    /* What could not even be sent is told first. */
    PP_CHECK(pp_http_wait(sent, 5, -1) == 1);
    size_t at, outcomes = 0;
    while ((at = pp_http_wait(sent, 5, -1)) < 5) {
        outcomes |= (size_t)1 << at;
        pp_http_receive(sent[at]);
    }
    PP_CHECK(outcomes == 0xF && pp_http_wait(sent, 0, -1) == 0);
    PP_CHECK_TEXT(pp_http_head(sent[0])->body, "1");
    PP_CHECK(pp_http_head(sent[1])->error == PP_HTTP_INVALID && pp_http_head(sent[2])->status == 404);
    PP_CHECK(pp_http_head(sent[3])->error == PP_HTTP_TIMED_OUT);
}

static void bodies_are_written_and_read_in_pieces(void)
{
    pp_test_new_client();
    pp_test_answers_http(echoes);
    const pp_http_request request = {.method = "PUT", .url = "https://a.test/", .in_pieces = true, .length = 10};
    pp_http_sent *sent = pp_http_start(&request);
    PP_CHECK(pp_http_wait(&sent, 1, 0) == 1);
    PP_CHECK(pp_http_write(sent, "hello", 5) && pp_http_write(sent, "world", 5));
    pp_http_finish(sent);
    PP_CHECK(!pp_http_write(sent, "!", 1));
    PP_CHECK(pp_http_wait(&sent, 1, 0) == 0 && pp_http_head(sent)->status == 200);
    char read[8] = "";
    PP_CHECK(pp_http_read(sent, read, 3) == 3 && pp_http_wait(&sent, 1, 0) == 0);
    PP_CHECK_TEXT(read, "PUT");
    PP_CHECK_TEXT(pp_http_receive(sent)->body, " helloworld");
    PP_CHECK(pp_http_read(sent, read, 3) == 0 && pp_http_receive(sent)->size == 11);
}

static void a_body_that_has_another_length_or_breaks_off_is_an_error(void)
{
    pp_test_new_client();
    pp_test_answers_http(echoes);
    const pp_http_request request = {.method = "PUT", .url = "https://a.test/", .in_pieces = true, .length = 4};
    pp_http_sent *sent = pp_http_start(&request);
    PP_CHECK(!pp_http_write(sent, "hello", 5) && pp_http_wait(&sent, 1, -1) == 0);
    PP_CHECK_TEXT(pp_http_receive(sent)->message, "the request cannot be sent: its body is longer than was said");
    sent = pp_http_start(&request);
    PP_CHECK(pp_http_write(sent, "hel", 3));
    pp_http_finish(sent);
    PP_CHECK(pp_http_wait(&sent, 1, -1) == 0);
    PP_CHECK_TEXT(pp_http_receive(sent)->message, "the request cannot be sent: its body is shorter than was said");
    sent = pp_http_start(&request);
    pp_http_close(sent);
    pp_http_close(NULL);
    PP_CHECK(pp_http_head(sent)->error == PP_HTTP_INVALID);
}

static pp_http_response breaks(const pp_http_request *request)
{
    (void)request;
    return (pp_http_response){.status = 200, .body = "half", .error = PP_HTTP_BROKEN, .message = "it ended early"};
}

static pp_http_response is_large(const pp_http_request *request)
{
    (void)request;
    size_t size = 300000;
    return (pp_http_response){.status = 200, .body = memset(pp_alloc(size), 'a', size), .size = size};
}

static void a_body_is_received_whole_or_as_far_as_it_comes(void)
{
    pp_test_new_client();
    pp_test_answers_http(breaks);
    const pp_http_response *response = pp_http_get("https://a.test/");
    PP_CHECK(response->error == PP_HTTP_BROKEN && response->status == 200);
    PP_CHECK_TEXT(response->body, "half");
    pp_test_answers_http(is_large);
    response = pp_http_get("https://a.test/");
    PP_CHECK(response->size == 300000 && response->body[299999] == 'a' && !response->body[300000]);
    PP_CHECK(!response->truncated);
}

void test_http(void)
{
    without_an_answer_requests_are_denied();
    requests_are_answered_and_seen();
    every_error_has_its_words();
    several_are_under_way_and_each_has_its_outcome();
    bodies_are_written_and_read_in_pieces();
    a_body_that_has_another_length_or_breaks_off_is_an_error();
    a_body_is_received_whole_or_as_far_as_it_comes();
}
