/* A host and a client for tests, which run natively: compile a plugin, the SDK's src/ and this folder with any C
 * compiler.
 *
 * A test calls a tool as the host does, through JSON, and looks at what the client would get. The client has nothing
 * until the test says what it answers; asked for something that it lacks, it answers as a real one does, with a
 * failure. Nothing is sent to other hosts: a function of the test answers instead of them.
 */
#ifndef PLUGPORT_TESTING_H
#define PLUGPORT_TESTING_H

#include <plugport.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The client's responses, each to the next request of its kind. */
void pp_test_samples(const char *text);
/* The form, filled in with this JSON. */
void pp_test_accepts(const char *json);
/* Goes to the page. */
void pp_test_visits(void);
void pp_test_declines(void);
/* Closes the form or page. */
void pp_test_closes(void);
void pp_test_has_root(const char *uri, const char *name);
/* The client declares this extension. */
void pp_test_has_extension(const char *name);
/* The operator grants neither requests to the client nor the store. */
void pp_test_denies(void);
/* The client no longer waits. */
void pp_test_cancels(void);
/* Another client, which has nothing, and has seen nothing; at a server whose store and settings are empty, and which
 * grants no requests to other hosts. */
void pp_test_new_client(void);

/* What a host answers: a status and a body, which is a text if it has no size, or an error. Of PP_HTTP_INVALID,
 * PP_HTTP_UNSENT and PP_HTTP_BROKEN `message` says why. The request's body is in `text`, `bytes` and `size`. */
typedef pp_http_response pp_test_http_answer(const pp_http_request *request);

/* Requests to other hosts are answered by this function from now on; without one, each is denied. */
void pp_test_answers_http(pp_test_http_answer *answer);
/* The requests since the client was new, also those that were denied. */
size_t pp_test_http_count(void);
/* NULL if there are not so many. */
const pp_http_request *pp_test_http_request(size_t at);
/* A setting or a secret. The plugin's store is read and written with pp_kv_get, pp_kv_set and so on. */
void pp_test_has_config(const char *key, const char *value);
void pp_test_has_secret(const char *key, const char *value);

typedef struct pp_test_result {
    /* a tool's error */
    bool is_error;
    /* the request failed; `text` says why */
    bool failed;
    pp_failure_kind failure;
    /* all texts, one line each; of a prompt "user: " or "assistant: " stands before each */
    const char *text;
    /* or NULL */
    const char *structured;
    /* the last piece that is bytes */
    const unsigned char *data;
    size_t size;
    const char *mime_type;
    size_t count;
} pp_test_result;

/* `args` is a JSON object. Arguments and results that do not fit the schemas are rejected as the server does it. */
pp_test_result pp_test_call(const char *tool, const char *args);
/* One with a URI of its own. */
pp_test_result pp_test_read(const char *uri);
/* One of a template. `variables` is a JSON object: what the URI has for them, decoded. */
pp_test_result pp_test_read_template(const char *uri_template, const char *uri, const char *variables);
pp_test_result pp_test_prompt(const char *prompt, const char *args);
/* "a|b|c" */
const char *pp_test_complete(const char *prompt, const char *argument, const char *typed);
/* What clients are told of the tool, or NULL. */
const char *pp_test_input_schema(const char *tool);
const char *pp_test_output_schema(const char *tool);

/* What the client has seen since it was new: lines such as "info logger: \"text\"" and "1/3 message". */
const char *pp_test_logs(void);
const char *pp_test_progress(void);
/* The params of the last request that the client got, or NULL. */
const char *pp_test_request(void);
/* Lines such as "tools" and "resource notes://1". */
const char *pp_test_changes(void);

#define PP_CHECK(condition) pp_test_check(condition, #condition, __FILE__, __LINE__)
#define PP_CHECK_TEXT(actual, expected) pp_test_check_text(actual, expected, #actual, __FILE__, __LINE__)

void pp_test_check(bool good, const char *what, const char *file, int line);
void pp_test_check_text(const char *actual, const char *expected, const char *what, const char *file, int line);
/* Says how many checks passed; what main returns. */
int pp_test_end(void);

#ifdef __cplusplus
}
#endif
#endif
