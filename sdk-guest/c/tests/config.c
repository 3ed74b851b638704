/* Settings and secrets, which the test makes. */
#include "tests.h"

static void settings_and_secrets_are_read_by_name(void)
{
    pp_test_new_client();
    pp_test_has_config("region", "us");
    pp_test_has_config("region", "eu");
    pp_test_has_secret("token", "hunter2");
    PP_CHECK_TEXT(pp_config("region").value, "eu");
    PP_CHECK_TEXT(pp_config_require("token").value, "hunter2");
    PP_CHECK(!pp_config("x").value && !pp_config("x").failure);
    pp_setting missing = pp_config_require("x");
    PP_CHECK(missing.failure->kind == PP_FAILED_INTERNAL && !missing.value);
    PP_CHECK_TEXT(missing.failure->message, "this plugin needs the setting `x`, which its operator has not made");
    pp_settings all = pp_config_all();
    PP_CHECK(!all.failure && all.count == 1);
    PP_CHECK_TEXT(all.items[0].key, "region");
    PP_CHECK_TEXT(all.items[0].value, "eu");
    pp_test_new_client();
    PP_CHECK(pp_config_all().count == 0 && !pp_config("region").value);
}

void test_config(void)
{
    settings_and_secrets_are_read_by_name();
}
