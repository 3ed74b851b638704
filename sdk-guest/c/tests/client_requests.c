/* Requests to the client, and their results. These need a call, but no table. */
#include "../src/internal.h"
#include "tests.h"

static pp_call call;

static const pp_form form = {
    .fields = {PP_STRING("name", "Your name"), PP_INTEGER_IN("age", 0, 150, "Your age", .optional = true)}};

static void forms_are_filled_in(void)
{
    pp_test_new_client();
    pp_test_accepts("{\"name\":\"Ada\",\"age\":36}");
    pp_elicit_result answer = pp_elicit(&call, &form, "Who are %s?", "you");
    PP_CHECK(answer.action == PP_ACCEPTED && pp_integer(answer.values, "age") == 36);
    PP_CHECK_TEXT(pp_string(answer.values, "name"), "Ada");
    PP_CHECK_TEXT(pp_test_request(),
                  "{\"mode\":\"form\",\"message\":\"Who are you?\",\"requestedSchema\":{\"type\":\"object\","
                  "\"properties\":{\"name\":{\"type\":\"string\",\"description\":\"Your name\"},\"age\":{\"type\":"
                  "\"integer\",\"minimum\":0,\"maximum\":150,\"description\":\"Your age\"}},\"required\":[\"name\"]}}");
}

static void forms_are_not_filled_in(void)
{
    pp_test_declines();
    PP_CHECK(pp_elicit(&call, &form, "?").action == PP_DECLINED);
    pp_test_closes();
    PP_CHECK(pp_elicit(&call, &form, "?").action == PP_CANCELLED);
    pp_test_accepts("{\"name\":\"a\\u0000b\"}");
    pp_elicit_result answer = pp_elicit(&call, &form, "?");
    PP_CHECK(answer.action == PP_FAILED);
    PP_CHECK_TEXT(answer.failure->message,
                  "the answer does not fit the form: the field `name` must not have U+0000 in it");
    answer = pp_elicit(&call, &form, "?");
    PP_CHECK(answer.failure->kind == PP_FAILED_INTERNAL);
    PP_CHECK_TEXT(answer.failure->message, "the test has no more responses for elicitation");
    pp_test_new_client();
    PP_CHECK(pp_elicit(&call, &form, "?").failure->kind == PP_FAILED_MISSING_CAPABILITY);
}

static void forms_fit_as_at_the_server(void)
{
    static const char *const cases[][2] = {
        {"{\"age\":1}", "the field `name` is missing"},
        {"{\"name\":\"Ada\",\"age\":-1}", "the field `age` does not fit the form"},
        {"{\"name\":\"Ada\",\"more\":{}}", "the field `more` is not part of the form"},
    };
    pp_test_new_client();
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
        pp_test_accepts(cases[at][0]);
        pp_elicit_result answer = pp_elicit(&call, &form, "?");
        PP_CHECK(answer.action == PP_FAILED && answer.failure->kind == PP_FAILED_RPC);
        PP_CHECK_TEXT(answer.failure->message, pp_format("the client's response cannot be used: %s", cases[at][1]));
    }
    pp_test_accepts("{\"name\":\"Ada\",\"more\":true}");
    PP_CHECK(pp_elicit(&call, &form, "?").action == PP_ACCEPTED);
    pp_test_visits();
    PP_CHECK(pp_elicit_url(&call, "https://example.com", "Pay.").action == PP_ACCEPTED);
}

static void models_are_sampled(void)
{
    pp_test_new_client();
    pp_test_samples("for\"ty\"");
    PP_CHECK_TEXT(pp_sample(&call, "Why?").text, "for\"ty\"");
    PP_CHECK_TEXT(pp_test_request(),
                  "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Why?\"}}],"
                  "\"maxTokens\":1000}");
    pp_test_denies();
    pp_create_message_result rejected = pp_sample(&call, "Why?");
    PP_CHECK(rejected.failure && rejected.failure->kind == PP_FAILED_DENIED);
    PP_CHECK_TEXT(rejected.text, "");
}

static void roots_are_listed(void)
{
    pp_test_new_client();
    pp_test_has_root("file:///a", "a");
    pp_test_has_root("file:///b", NULL);
    pp_roots roots = pp_list_roots(&call);
    PP_CHECK(roots.count == 2 && !roots.items[1].name);
    PP_CHECK_TEXT(roots.items[1].uri, "file:///b");
    PP_CHECK(pp_client_of(&call).roots && !pp_client_of(&call).sampling);
}

static void clients_are_told(void)
{
    pp_test_new_client();
    pp_log(&call, PP_INFO, "tests", "a \"%d\"", 1);
    pp_log(&call, PP_EMERGENCY, NULL, "b");
    pp_progress(&call, 1, 3, "one");
    pp_progress(&call, 2, -1, NULL);
    pp_tools_changed();
    pp_resource_updated("a:b");
    PP_CHECK_TEXT(pp_test_logs(), "info tests: \"a \\\"1\\\"\"\nemergency: \"b\"");
    PP_CHECK_TEXT(pp_test_progress(), "1/3 one\n2");
    PP_CHECK_TEXT(pp_test_changes(), "tools\nresource a:b");
    PP_CHECK(!pp_cancelled(&call));
    pp_test_cancels();
    PP_CHECK(pp_cancelled(&call));
}

static void clients_declare_extensions(void)
{
    pp_test_new_client();
    PP_CHECK(pp_client_of(&call).extension_count == 0 && !pp_supports(&call, "io.modelcontextprotocol/ui"));
    pp_test_has_extension("io.modelcontextprotocol/tasks");
    pp_test_has_extension("io.modelcontextprotocol/ui");
    pp_client client = pp_client_of(&call);
    PP_CHECK(client.extension_count == 2);
    PP_CHECK_TEXT(client.extensions[1], "io.modelcontextprotocol/ui");
    PP_CHECK(pp_supports(&call, "io.modelcontextprotocol/ui") && !pp_supports(&call, "io.modelcontextprotocol"));
}

static void clients_of_tests_wait_for_calls_that_detach(void)
{
    PP_CHECK(!pp_detach(&call, "rendering") && !pp_detach(&call, NULL));
}

static void several_requests_are_sent_at_once(void)
{
    pp_test_new_client();
    pp_test_samples("Folders");
    pp_test_has_root("file:///a", NULL);
    const pp_create_message_request title = {.text = "A title?"};
    pp_input_request requests[] = {
        {.key = "title", .sampling = &title},
        {.key = "folders", .roots = true},
        {.key = "who", .form = &form, .message = "Who?"},
    };
    PP_CHECK(!pp_request_inputs(&call, requests, 3));
    PP_CHECK_TEXT(requests[0].sampled.text, "Folders");
    PP_CHECK(requests[1].found.count == 1 && !requests[1].found.items[0].name);
    PP_CHECK_TEXT(requests[1].found.items[0].uri, "file:///a");
    PP_CHECK(requests[2].elicited.failure->kind == PP_FAILED_MISSING_CAPABILITY);
    pp_test_denies();
    const pp_failure *failure = pp_request_inputs(&call, requests, 3);
    PP_CHECK(failure && failure->kind == PP_FAILED_DENIED && requests[0].sampled.failure == failure);
}

void test_client_requests(void)
{
    several_requests_are_sent_at_once();
    forms_are_filled_in();
    forms_are_not_filled_in();
    forms_fit_as_at_the_server();
    models_are_sampled();
    roots_are_listed();
    clients_are_told();
    clients_declare_extensions();
    clients_of_tests_wait_for_calls_that_detach();
}
