/* JSON is read strictly, and written JSON reads back. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "../src/internal.h"
#include "tests.h"

static const char *const good[] = {
    "null",
    "true",
    " false ",
    "0",
    "-0",
    "-1.5e+10",
    "1E5",
    "\"\"",
    "\"\\u00e9\\ud83d\\ude00\\/\"",
    "[]",
    "{}",
    "[1,[2,{\"a\":[]}]]",
    "{\"a\":1,\"a\":2}",
    "\t[\n1\r]",
    "\"\xC3\xA9\"",
    "1e400",
};

static const char *const bad[] = {
    "",
    " ",
    "nul",
    "True",
    "01",
    "-",
    "+1",
    "1.",
    ".5",
    "1e",
    "0x1",
    "NaN",
    "\"",
    "\"\\",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\\ud800\"",
    "\"\\ud800\\u0041\"",
    "\"\\udc00\"",
    "\"\n\"",
    "[",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "{",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,}",
    "{a:1}",
    "{1:2}",
    "1 2",
    "[]]",
    "//",
    "\"\xC3\"",
    "\"\xC0\x80\"",
    "\"\xED\xA0\x80\"",
    "\"\xF5\x80\x80\x80\"",
    "'a'",
};

static const pp_json *parse(const char *text)
{
    return pp_json_parse(text, strlen(text), NULL);
}

static void reads_what_is_json(void)
{
    for (size_t at = 0; at < sizeof good / sizeof *good; at++) {
        PP_CHECK_TEXT(parse(good[at]) ? good[at] : "rejected", good[at]);
    }
}

static void refuses_what_is_not(void)
{
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++) {
        PP_CHECK_TEXT(parse(bad[at]) ? bad[at] : "rejected", "rejected");
    }
}

static void says_where_and_why(void)
{
    const char *why = NULL;
    PP_CHECK(!pp_json_parse("[1,]", 4, &why));
    PP_CHECK_TEXT(why, "this is no value (at byte 3)");
}

static void bounds_how_deep_values_nest(void)
{
    char deep[200];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    PP_CHECK(!pp_json_parse(deep, 200, NULL));
    PP_CHECK(pp_json_parse(deep + 40, 120, NULL) != NULL);
}

/* Every prefix of a document, and the document with any byte changed, is read or rejected. A sanitizer finds the other
 * errors. */
static void survives_whatever_comes(void)
{
    static const char text[] =
        "{\"a\":[1.5e3,\"x\\u00e9\\n\",true,null,{\"b\":-0}],\"\\ud83d\\ude00\":\"\xE2\x82\xAC\"}";
    size_t length = sizeof text - 1;
    for (size_t end = 0; end < length; end++) {
        PP_CHECK(!pp_json_parse(text, end, NULL));
    }
    for (size_t at = 0; at < length; at++) {
        for (int byte = 0; byte < 256; byte++) {
            char changed[sizeof text];
            memcpy(changed, text, sizeof text);
            changed[at] = (char)byte;
            pp_json_parse(changed, length, NULL);
        }
    }
}

static void finds_members_and_items(void)
{
    const pp_json *value = parse("{\"list\":[1,\"two\",false],\"n\":9007199254740993,\"twice\":1,\"twice\":2}");
    const pp_json *list = pp_json_member(value, "list");
    int64_t integer = 0;
    PP_CHECK(pp_json_count(list) == 3 && pp_json_number(pp_json_at(list, 0)) == 1);
    PP_CHECK_TEXT(pp_json_text(pp_json_at(list, 1), NULL), "two");
    PP_CHECK(!pp_json_at(list, 3) && !pp_json_member(list, "x") && !pp_json_text(NULL, NULL));
    PP_CHECK(pp_json_integer(pp_json_member(value, "n"), &integer) && integer == 9007199254740993);
    PP_CHECK(pp_json_integer(pp_json_member(value, "twice"), &integer) && integer == 2);
    PP_CHECK_TEXT(pp_json_source(list), "[1,\"two\",false]");
}

static void knows_whole_numbers(void)
{
    int64_t integer = 0;
    PP_CHECK(pp_json_integer(parse("1e3"), &integer) && integer == 1000);
    PP_CHECK(pp_json_integer(parse("-9223372036854775808"), &integer) && integer == INT64_MIN);
    PP_CHECK(!pp_json_integer(parse("9223372036854775808"), &integer));
    PP_CHECK(!pp_json_integer(parse("1.5"), &integer) && !pp_json_integer(parse("1e300"), &integer));
    PP_CHECK(!pp_json_integer(parse("\"1\""), &integer));
    PP_CHECK(pp_json_integer(parse("9007199254740991.0"), &integer) && integer == 9007199254740991);
    PP_CHECK(pp_json_integer(parse("9007199254740993.0"), &integer) && integer == 9007199254740993);
    PP_CHECK(pp_json_integer(parse("-9007199254740993.0"), &integer) && integer == -9007199254740993);
    PP_CHECK(pp_json_integer(parse("1e18"), &integer) && integer == 1000000000000000000);
    PP_CHECK(pp_json_integer(parse("9.223372036854775807e18"), &integer) && integer == INT64_MAX);
    PP_CHECK(pp_json_integer(parse("-92233720368547758080e-1"), &integer) && integer == INT64_MIN);
    PP_CHECK(!pp_json_integer(parse("9.223372036854775808e18"), &integer));
    PP_CHECK(!pp_json_integer(parse("1e19"), &integer) && !pp_json_integer(parse("12e-1"), &integer));
    PP_CHECK(!pp_json_integer(parse("1e99999999999999999999"), &integer));
    PP_CHECK(pp_json_integer(parse("0.0e99999999999999999999"), &integer) && integer == 0);
    PP_CHECK(pp_json_integer(parse("-0.000"), &integer) && integer == 0);
    PP_CHECK(pp_json_integer(parse("0.0012e4"), &integer) && integer == 12);
    PP_CHECK(pp_json_integer(parse("1200e-2"), &integer) && integer == 12);
    PP_CHECK(!pp_json_integer(parse("1e-1"), &integer));
}

static void keeps_zeros_within_text(void)
{
    size_t length = 0;
    const char *text = pp_json_text(parse("\"a\\u0000b\""), &length);
    PP_CHECK(length == 3 && text && text[2] == 'b');
}

static void writes_documents(void)
{
    pp_doc *doc = pp_object();
    pp_put_text(doc, "text", "a\"\\\n\x01\xC3\xA9\xFF");
    pp_put_integer(doc, "least", INT64_MIN);
    pp_put_number(doc, "tenth", 0.1);
    pp_put_number(doc, "none", NAN);
    pp_open_array(doc, "list");
    pp_put_bool(doc, NULL, true);
    pp_open_object(doc, NULL);
    pp_close(doc);
    pp_put_json(doc, NULL, "[1]");
    pp_close(doc);
    pp_put_text(doc, "nothing", NULL);
    PP_CHECK_TEXT(pp_doc_text(doc),
                  "{\"text\":\"a\\\"\\\\\\n\\u0001\xC3\xA9\xEF\xBF\xBD\",\"least\":-9223372036854775808,\"tenth\":0.1,"
                  "\"none\":null,\"list\":[true,{},[1]],\"nothing\":null}");
    PP_CHECK(parse(pp_doc_text(doc)) != NULL);
}

static pp_doc *nested(size_t depth, bool keyed)
{
    pp_doc *doc = pp_object();
    for (size_t at = 1; at < depth; at++) {
        const char *key = keyed || at == 1 ? "a" : NULL;
        if (keyed) {
            pp_open_object(doc, key);
        } else {
            pp_open_array(doc, key);
        }
    }
    pp_put_text(doc, keyed || depth == 1 ? "text" : NULL, "deep");
    for (size_t at = 1; at < depth; at++) {
        pp_close(doc);
    }
    pp_put_integer(doc, "after", 7);
    return doc;
}

static void cuts_what_is_nested_too_deeply(void)
{
    for (int keyed = 0; keyed < 2; keyed++) {
        PP_CHECK(!pp_structured(nested(64, keyed))->is_error);
        PP_CHECK(strstr(pp_doc_text(nested(64, keyed)), "deep") != NULL);
        for (size_t depth = 65; depth <= 20000; depth *= 17) {
            const pp_json *value = parse(pp_doc_text(nested(depth, keyed)));
            PP_CHECK(pp_json_number(pp_json_member(value, "after")) == 7);
            pp_result *rejected = pp_structured(nested(depth, keyed));
            PP_CHECK(rejected->is_error && !rejected->structured && strstr(rejected->first->data, "64 deep") != NULL);
        }
    }
}

static void writes_numbers_that_read_back(void)
{
    static const double numbers[] = {0, -0.5, 1.0 / 3, DBL_MAX, DBL_MIN, 5e-324, 1e21, 123456789012345680.0};
    for (size_t at = 0; at < sizeof numbers / sizeof *numbers; at++) {
        pp_doc *doc = pp_array();
        pp_put_number(doc, NULL, numbers[at]);
        PP_CHECK(pp_json_number(pp_json_at(parse(pp_doc_text(doc)), 0)) == numbers[at]);
    }
}

void test_json(void)
{
    reads_what_is_json();
    refuses_what_is_not();
    says_where_and_why();
    bounds_how_deep_values_nest();
    survives_whatever_comes();
    finds_members_and_items();
    knows_whole_numbers();
    keeps_zeros_within_text();
    writes_documents();
    cuts_what_is_nested_too_deeply();
    writes_numbers_that_read_back();
}
