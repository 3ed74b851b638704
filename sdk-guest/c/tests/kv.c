/* The store, which is in memory here. */
#include <stdlib.h>
#include <string.h>

#include "tests.h"

static void values_are_kept_and_removed(void)
{
    pp_test_new_client();
    PP_CHECK(!pp_kv_set("a", "\xFF\0z", 3) && !pp_kv_set_text("b", "text") && !pp_kv_set("c", NULL, 0));
    pp_kv_value a = pp_kv_get("a"), missing = pp_kv_get("d");
    PP_CHECK(a.size == 3 && memcmp(a.data, "\xFF\0z", 4) == 0);
    PP_CHECK_TEXT(pp_kv_get("b").data, "text");
    PP_CHECK_TEXT(pp_kv_get("c").data, "");
    PP_CHECK(!missing.failure && !missing.data);
    PP_CHECK(!pp_kv_delete("a") && !pp_kv_delete("a") && !pp_kv_exists("a").exists && pp_kv_exists("b").exists);
    pp_test_new_client();
    PP_CHECK(!pp_kv_exists("b").exists);
}

static void keys_are_listed_over_all_pages(void)
{
    pp_test_new_client();
    PP_CHECK(pp_kv_keys().count == 0);
    for (int at = 0; at < 9; at++) {
        pp_kv_set_text(pp_format("k%d", at), "");
    }
    pp_kv_delete("k3");
    pp_kv_list keys = pp_kv_keys();
    unsigned seen = 0;
    for (size_t at = 0; at < keys.count; at++) {
        seen |= 1U << (keys.items[at][1] - '0');
    }
    PP_CHECK(!keys.failure && keys.count == 8 && seen == 0x1F7);
}

static void numbers_are_added_up(void)
{
    pp_test_new_client();
    PP_CHECK(pp_kv_increment("n", 5).number == 5 && pp_kv_increment("n", -7).number == -2);
    pp_kv_set_text("n", "9223372036854775807");
    pp_kv_number sum = pp_kv_increment("n", 1);
    PP_CHECK(sum.failure && sum.failure->kind == PP_FAILED_INTERNAL);
    PP_CHECK_TEXT(sum.failure->message, "the key-value store failed: `n` is no number, or has no room for the sum");
    pp_kv_set_text("n", "x");
    PP_CHECK(pp_kv_increment("n", 1).failure && pp_kv_get("n").size == 1);
}

static pp_kv_value one_more(void *disturb, pp_kv_value old)
{
    bool *first = disturb;
    if (*first) {
        pp_kv_set_text("n", "10");
    }
    *first = false;
    return pp_kv_text("%d", old.data ? atoi(old.data) + 1 : 1);
}

static pp_kv_value in_vain(void *times, pp_kv_value old)
{
    pp_kv_set_text("n", pp_format("%d", ++*(int *)times));
    return old;
}

static pp_kv_value gives_up(void *why, pp_kv_value old)
{
    old.failure = why;
    return old;
}

static void an_update_is_made_again_on_what_another_wrote_meanwhile(void)
{
    pp_test_new_client();
    bool disturb = false;
    PP_CHECK_TEXT(pp_kv_update("n", one_more, &disturb).data, "1");
    disturb = true;
    PP_CHECK_TEXT(pp_kv_update("n", one_more, &disturb).data, "11");
    PP_CHECK_TEXT(pp_kv_get("n").data, "11");
    int times = 0;
    pp_kv_value rejected = pp_kv_update("n", in_vain, &times);
    PP_CHECK_TEXT(rejected.failure->message, "`n` could not be updated, since others kept writing it");
    PP_CHECK(times == 100 && !rejected.data);
    pp_failure why = {PP_FAILED_NOT_FOUND, "no", 0, NULL};
    for (times = 0; times < 20; times++) {
        PP_CHECK(pp_kv_update("n", gives_up, &why).failure == &why);
    }
    PP_CHECK_TEXT(pp_kv_get("n").data, "100");
}

static pp_kv_value same(void *state, pp_kv_value old)
{
    (void)state;
    return old;
}

static pp_kv_value nothing(void *state, pp_kv_value old)
{
    (void)state, (void)old;
    return (pp_kv_value){NULL, NULL, 0};
}

static void an_update_to_nothing_fails(void)
{
    static const char *const words = "an update returned no value; call pp_kv_delete to remove a key";
    pp_test_new_client();
    PP_CHECK_TEXT(pp_kv_update("a", same, NULL).failure->message, words);
    PP_CHECK(!pp_kv_exists("a").exists);
    pp_kv_set_text("a", "kept");
    PP_CHECK_TEXT(pp_kv_update("a", nothing, NULL).failure->message, words);
    PP_CHECK_TEXT(pp_kv_get("a").data, "kept");
    pp_kv_set_text("a", "");
    PP_CHECK_TEXT(pp_kv_update("a", same, NULL).data, "");
}

static void without_a_grant_everything_is_denied(void)
{
    pp_test_new_client();
    pp_kv_set_text("a", "1");
    pp_test_denies();
    bool disturb = false;
    const pp_failure *failures[] = {
        pp_kv_get("a").failure,
        pp_kv_exists("a").failure,
        pp_kv_set_text("a", "2"),
        pp_kv_delete("a"),
        pp_kv_increment("a", 1).failure,
        pp_kv_keys().failure,
        pp_kv_update("a", one_more, &disturb).failure,
    };
    for (size_t at = 0; at < sizeof failures / sizeof *failures; at++) {
        PP_CHECK(failures[at] && failures[at]->kind == PP_FAILED_DENIED);
    }
    PP_CHECK_TEXT(failures[0]->message,
                  "this server does not grant `kv` to the plugin, or only for callers with credentials");
}

void test_kv(void)
{
    values_are_kept_and_removed();
    keys_are_listed_over_all_pages();
    numbers_are_added_up();
    an_update_is_made_again_on_what_another_wrote_meanwhile();
    an_update_to_nothing_fails();
    without_a_grant_everything_is_denied();
}
