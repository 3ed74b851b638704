// The plugin as the host calls it, without WebAssembly: `sh test.sh`.
#include <plugport_testing.h>

namespace
{

void greets_by_name()
{
    PP_CHECK_TEXT(pp_test_call("hello", R"({"name":"Ada"})").text, "Hello, Ada!");
    PP_CHECK_TEXT(pp_test_call("hello", R"({"name":"Ada","shout":true})").text, "HELLO, ADA!");
    PP_CHECK_TEXT(pp_test_logs(), "info: \"greeting Ada\"\ninfo: \"greeting Ada\"");
}

void asks_for_a_name()
{
    pp_test_accepts(R"({"name":"Grace"})");
    PP_CHECK_TEXT(pp_test_call("hello", "{}").text, "Hello, Grace!");
}

void greets_those_who_say_no_name()
{
    pp_test_declines();
    PP_CHECK_TEXT(pp_test_call("hello", "{}").text, "Hello, whoever you are!");
}

void refuses_what_is_no_name()
{
    pp_test_result result = pp_test_call("hello", R"({"name":7})");
    PP_CHECK(result.is_error);
    PP_CHECK_TEXT(result.text, "the arguments do not fit the tool's schema: /name: 7 is not of type \"string\"");
}

} // namespace

int main()
{
    greets_by_name();
    asks_for_a_name();
    greets_those_who_say_no_name();
    refuses_what_is_no_name();
    return pp_test_end();
}
