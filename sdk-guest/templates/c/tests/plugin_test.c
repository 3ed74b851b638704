/* The plugin as the host calls it, without WebAssembly: `sh test.sh`. */
#include <plugport_testing.h>

static void greets_by_name(void)
{
    PP_CHECK_TEXT(pp_test_call("hello", "{\"name\":\"Ada\"}").text, "Hello, Ada!");
    PP_CHECK_TEXT(pp_test_call("hello", "{\"name\":\"Ada\",\"shout\":true}").text, "HELLO, ADA!");
    PP_CHECK_TEXT(pp_test_logs(), "info: \"greeting Ada\"\ninfo: \"greeting Ada\"");
}

static void asks_for_a_name(void)
{
    pp_test_accepts("{\"name\":\"Grace\"}");
    PP_CHECK_TEXT(pp_test_call("hello", "{}").text, "Hello, Grace!");
}

static void greets_those_who_say_no_name(void)
{
    pp_test_declines();
    PP_CHECK_TEXT(pp_test_call("hello", "{}").text, "Hello, whoever you are!");
}

static void refuses_what_is_no_name(void)
{
    pp_test_result result = pp_test_call("hello", "{\"name\":7}");
    PP_CHECK(result.is_error);
    PP_CHECK_TEXT(result.text, "the arguments do not fit the tool's schema: /name: 7 is not of type \"string\"");
}

int main(void)
{
    greets_by_name();
    asks_for_a_name();
    greets_those_who_say_no_name();
    refuses_what_is_no_name();
    return pp_test_end();
}
