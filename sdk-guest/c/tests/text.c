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

static const char *word(const char *uri_template, const char *uri, const char *name)
{
    const pp_json *words = ppi_match(uri_template, uri);
    return words ? pp_json_text(pp_json_member(words, name), NULL) : "no match";
}

static void matches_templates(void)
{
    PP_CHECK_TEXT(word("a://{x}", "a://one", "x"), "one");
    PP_CHECK_TEXT(word("a://{x}", "a://%41%20b", "x"), "A b");
    PP_CHECK_TEXT(word("a://{x}/b/{y}.txt", "a://1/b/2.txt", "y"), "2");
    PP_CHECK_TEXT(word("a://{x}", "a://", "x"), "no match");
    PP_CHECK_TEXT(word("a://{x}", "a://b/c", "x"), "no match");
    PP_CHECK_TEXT(word("a://{x}", "b://b", "x"), "no match");
    PP_CHECK_TEXT(word("a://{x}", "a", "x"), "no match");
    PP_CHECK_TEXT(word("a://{x}", "a://%4", "x"), "no match");
    PP_CHECK_TEXT(word("a://{x}", "a://%zz", "x"), "no match");
    PP_CHECK_TEXT(word("a://{x}", "a://%00", "x"), "no match");
    PP_CHECK_TEXT(word("a://{x}", "a://%ff", "x"), "no match");
    PP_CHECK_TEXT(word("a://{x", "a://b", "x"), "b");
    PP_CHECK_TEXT(word("a://{name}.txt", "a://a.b.txt", "name"), "a.b");
    PP_CHECK_TEXT(word("a://{name}.txt", "a://.txt.txt", "name"), ".txt");
    PP_CHECK_TEXT(word("a://{name}.txt", "a://.txt", "name"), "no match");
    PP_CHECK_TEXT(word("a://{x}-{y}.txt/{z}", "a://1-2-3.txt/4", "x"), "1-2");
    PP_CHECK_TEXT(word("a://{x}-{y}.txt/{z}", "a://1-2-3.txt/4", "y"), "3");
    PP_CHECK_TEXT(word("a://{x}4{y}", "a://%44%41", "y"), "no match");
    PP_CHECK_TEXT(word("a://{x}{y}", "a://a%41", "y"), "A");
    PP_CHECK_TEXT(word("a://{x}{y}", "a://a%C3%A9", "x"), "a");
    PP_CHECK_TEXT(word("a://{x}{y}", "a://a%c3%a9", "y"), "\xC3\xA9");
    PP_CHECK_TEXT(word("a://{x}{y}", "a://a\xC3\xA9", "y"), "\xC3\xA9");
    PP_CHECK_TEXT(word("a://{x}{y}", "a://\xF0\x9F\x98\x80z", "x"), "\xF0\x9F\x98\x80");
    PP_CHECK_TEXT(word("a://{x}\xC3\xA9{y}", "a://1\xC3\xA9\xC3\xA9", "y"), "\xC3\xA9");
    PP_CHECK_TEXT(word("a://{x}{y}", "a://%A9%A9", "x"), "no match");
    PP_CHECK_TEXT(word("a://{a{b}", "a://c", "a{b"), "c");
    PP_CHECK_TEXT(word("a://{a{b}/{c", "a://d/e", "c"), "e");
    char hostile[3000];
    memset(hostile, 'a', sizeof hostile);
    memcpy(hostile, "a://", 4);
    hostile[sizeof hostile - 1] = '\0';
    PP_CHECK_TEXT(word("a://{v}a{w}a{x}a{y}a{z}b", hostile, "v"), "no match");
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
    matches_templates();
    failures_are_copied();
    splits_choices();
}
