/* Text, memory and URIs. */
#include <string.h>

#include "../src/internal.h"
#include "tests.h"

static void mends_what_is_not_utf8(void)
{
    size_t length = 5;
    const char *mended = ppi_utf8("a\xFFz\xC3\xA9", &length);
    PP_CHECK(length == 7 && memcmp(mended, "a\xEF\xBF\xBDz\xC3\xA9", 7) == 0);
    length = 2;
    PP_CHECK(memcmp(ppi_utf8("\xE2\x82", &length), "\xEF\xBF\xBD\xEF\xBF\xBD", 6) == 0 && length == 6);
}

static void memory_is_zeroed_aligned_and_of_any_size(void)
{
    for (size_t size = 0; size < 100000; size = size * 3 + 1) {
        unsigned char *memory = pp_alloc(size);
        PP_CHECK((uintptr_t)memory % 16 == 0 && (size == 0 || (memory[0] == 0 && memory[size - 1] == 0)));
        memset(memory, 0xAA, size);
    }
    PP_CHECK_TEXT(pp_format("%s-%d", "a", 7), "a-7");
}

static void failures_are_copied(void)
{
    char message[] = "why", data[] = "{}";
    pp_failure failure = {PP_FAILED_RPC, message, -32000, data};
    pp_result *result = pp_failed(&failure);
    message[0] = data[0] = 'x';
    PP_CHECK_TEXT(ppi_failure_of(result, true)->message, "why");
    PP_CHECK_TEXT(ppi_failure_of(result, true)->data, "{}");
}

static void count_choice(void *state, const char *choice, size_t length)
{
    (void)choice, (void)length;
    ++*(int *)state;
}

static void splits_choices(void)
{
    int count = 0;
    ppi_each_choice("|a||", count_choice, &count);
    PP_CHECK(count == 4);
    PP_CHECK(ppi_is_choice("svg|png", "png", 3) && !ppi_is_choice("svg|png", "pn", 2));
}

void test_text(void)
{
    mends_what_is_not_utf8();
    memory_is_zeroed_aligned_and_of_any_size();
    failures_are_copied();
    splits_choices();
}
