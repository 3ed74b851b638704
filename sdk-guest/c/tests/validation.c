/* Tests get the words of the server. The cases are those of all SDKs; the Rust SDK compares them with the server's own
 * validator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"
#include "tests.h"

#define PREFIX "the arguments do not fit the tool's schema: "

/* The faults of a message and of a case may have another order. */
static void check_faults(const pp_test_result *result, const pp_json *faults, const char *args)
{
    size_t length = strlen(PREFIX);
    const char *text = result->text;
    PP_CHECK(result->is_error == (pp_json_count(faults) > 0));
    if (pp_json_count(faults) > 0) {
        PP_CHECK(strncmp(text, PREFIX, strlen(PREFIX)) == 0);
        for (const pp_json *fault = pp_json_at(faults, 0); fault; fault = pp_json_next(fault)) {
            const char *wanted = pp_json_text(fault, NULL);
            length += strlen(wanted) + (pp_json_next(fault) ? strlen("; ") : 0);
            if (!strstr(text, wanted)) {
                PP_CHECK_TEXT(text, wanted);
            }
        }
        if (length != strlen(text)) {
            PP_CHECK_TEXT(text, args);
        }
    }
}

static char *file(const char *path)
{
    FILE *opened = fopen(path, "rb");
    char *text = opened ? calloc(1, 1 << 16) : NULL;
    if (text) {
        text[fread(text, 1, (1 << 16) - 1, opened)] = '\0';
    }
    if (opened) {
        fclose(opened);
    }
    return text;
}

static void arguments_are_rejected_in_the_words_of_the_server(void)
{
    char *schema = file("../tests/validation/schema.json"), *text = file("../tests/validation/cases.json");
    PP_CHECK(schema && text && strlen(schema) < OWN_SCHEMA);
    if (schema && text) {
        snprintf(own_schema, OWN_SCHEMA, "%s", schema);
        for (size_t at = 0;; at++) {
            /* a call gives back all that was read */
            const pp_json *one = pp_json_at(pp_json_parse(text, strlen(text), NULL), at);
            if (!one) {
                break;
            }
            const char *source = pp_json_source(pp_json_member(one, "args"));
            char *args = calloc(1, strlen(source) + 1);
            strcpy(args, source);
            pp_test_result result = pp_test_call("validated", args);
            one = pp_json_at(pp_json_parse(text, strlen(text), NULL), at);
            check_faults(&result, pp_json_member(one, "faults"), args);
            free(args);
        }
    }
    free(schema);
    free(text);
}

/* The cases are written by `cargo run -p plugport-tests --bin argument_types`, one on each line. */
static void generated_arguments_are_accepted_where_the_server_accepts_them(void)
{
    static char line[1 << 18];
    const char *path = getenv("PLUGPORT_VALIDATION_CASES");
    FILE *cases = path ? fopen(path, "rb") : NULL;
    PP_CHECK(!path || cases);
    while (cases && fgets(line, sizeof line, cases)) {
        const pp_json *one = pp_json_parse(line, strlen(line), NULL);
        const char *schema = pp_json_text(pp_json_member(one, "schema"), NULL);
        const char *text = pp_json_text(pp_json_member(one, "args"), NULL);
        bool accepted = pp_json_is_true(pp_json_member(one, "accepted"));
        PP_CHECK(schema && text && strlen(schema) < OWN_SCHEMA);
        snprintf(own_schema, OWN_SCHEMA, "%s", schema ? schema : "");
        /* a call gives back all that was read */
        char *args = calloc(1, text ? strlen(text) + 1 : 1);
        strcpy(args, text ? text : "");
        pp_test_result result = pp_test_call("validated", args);
        bool is_rejected = result.is_error && strncmp(result.text, PREFIX, strlen(PREFIX)) == 0;
        if (is_rejected == accepted) {
            PP_CHECK_TEXT(result.text, line);
        }
        free(args);
    }
    if (cases) {
        fclose(cases);
    }
}

static void nulls_for_what_may_be_missing_do_not_reach_a_tool(void)
{
    const char *args = "{\"nights\": 1, \"note\": null, \"loud\": null, \"guests\": [{\"name\": \"A\", \"age\": null}]}";
    PP_CHECK_TEXT(pp_test_call("validated", args).text, "1 null 0 [{\"name\":\"A\"}] - -");
    args = "{\"nights\": 1, \"friends\": {\"k\": {\"name\": \"A\", \"age\": null}}}";
    PP_CHECK_TEXT(pp_test_call("validated", args).text, "1 - 0 - {\"k\":{\"name\":\"A\"}} -");
    args = "{\"nights\": 1, \"pets\": {\"x\": {\"name\": \"A\", \"age\": null}}}";
    PP_CHECK_TEXT(pp_test_call("validated", args).text, "1 - 0 - - {\"x\":{\"name\":\"A\",\"age\":null}}");
}

static void a_message_names_five_faults_and_cuts_a_long_one(void)
{
    const char *text = pp_test_call("describe", "{\"a\":1,\"count\":true,\"word\":1,\"share\":\"\",\"loud\":1,\"unit\":1,"
                                                "\"list\":1}")
                           .text;
    size_t faults = 1;
    for (const char *at = text; (at = strstr(at, "; ")); at += 2) {
        faults++;
    }
    PP_CHECK(faults == 5);
    char args[700] = "{\"count\":\"", *end = args + strlen(args);
    for (int letter = 0; letter < 300; letter++) {
        end = strcpy(end, "é") + strlen("é");
    }
    strcpy(end, "\"}");
    text = pp_test_call("describe", args).text;
    PP_CHECK(strlen(text) <= strlen(PREFIX) + 303 && strstr(text, "é…"));
}

static void a_result_that_does_not_fit_is_rejected(void)
{
    static const char invalid[] = "the tool returned an invalid result: ";
    PP_CHECK_TEXT(pp_test_call("ratio", "{\"result\":0.5}").structured, "{\"ratio\":0.5}");
    pp_test_result result = pp_test_call("ratio", "{\"result\":2}");
    PP_CHECK(result.is_error && !result.structured && strncmp(result.text, invalid, strlen(invalid)) == 0);
    PP_CHECK_TEXT(result.text + strlen(invalid), "its structured content does not fit its schema: /ratio: 2 is greater "
                                                 "than the maximum of 1");
    result = pp_test_call("ratio", "{}");
    PP_CHECK(result.is_error && strncmp(result.text, invalid, strlen(invalid)) == 0);
    PP_CHECK_TEXT(result.text + strlen(invalid), "it promises structured content and gave none");
}

static void a_form_is_checked_as_the_server_checks_it(void)
{
    char *text = file("../tests/validation/forms.json");
    PP_CHECK(text != NULL);
    const pp_json *forms = text ? pp_json_parse(text, strlen(text), NULL) : NULL;
    const pp_json *cases = pp_json_member(forms, "cases");
    PP_CHECK(pp_json_count(cases) > 0);
    for (const pp_json *one = pp_json_at(cases, 0); one; one = pp_json_next(one)) {
        const char *fault = ppt_form_fault(pp_json_member(forms, "form"), pp_json_member(one, "content"));
        const char *expected = pp_json_text(pp_json_member(one, "fault"), NULL);
        PP_CHECK_TEXT(fault ? fault : "fits", expected ? expected : "fits");
    }
    free(text);
}

static const char *form_fault(const char *field, const char *content)
{
    const char *form = pp_format("{\"properties\":{\"count\":%s}}", field);
    return ppt_form_fault(pp_json_parse(form, strlen(form), NULL), pp_json_parse(content, strlen(content), NULL));
}

static void a_bound_of_a_form_that_is_no_number_is_none(void)
{
    PP_CHECK(!form_fault("{\"type\":\"integer\",\"minimum\":\"5\",\"maximum\":null}", "{\"count\":1}"));
    PP_CHECK(!form_fault("{\"type\":\"integer\",\"minimum\":true,\"maximum\":\"0\"}", "{\"count\":-1}"));
    PP_CHECK(form_fault("{\"type\":\"integer\",\"minimum\":5}", "{\"count\":1}"));
}

static void a_key_of_a_form_with_a_zero_is_another_key(void)
{
    PP_CHECK(!form_fault("{\"type\":\"integer\"}", "{\"count\\u0000\":\"text\"}"));
    PP_CHECK(form_fault("{\"type\":\"integer\"}", "{\"count\\u0000\":{}}"));
}

static void a_schema_that_the_server_would_reject_is_told(void)
{
    snprintf(own_schema, OWN_SCHEMA, "{\"type\":\"array\"}");
    pp_test_result result = pp_test_call("validated", "{}");
    PP_CHECK(result.failed && result.failure == PP_FAILED_INTERNAL);
    PP_CHECK(strstr(result.text, "the server would reject this tool") != NULL);
}

void test_validation(void)
{
    generated_arguments_are_accepted_where_the_server_accepts_them();
    arguments_are_rejected_in_the_words_of_the_server();
    nulls_for_what_may_be_missing_do_not_reach_a_tool();
    a_message_names_five_faults_and_cuts_a_long_one();
    a_result_that_does_not_fit_is_rejected();
    a_schema_that_the_server_would_reject_is_told();
    a_form_is_checked_as_the_server_checks_it();
    a_bound_of_a_form_that_is_no_number_is_none();
    a_key_of_a_form_with_a_zero_is_another_key();
}
