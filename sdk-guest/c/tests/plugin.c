/* A plugin of everything, called as the host calls it. */
#include <string.h>

#include "testing.h"
#include "tests.h"

static pp_result *describe(pp_call *call, const pp_args *args)
{
    (void)call;
    const char *word = pp_string(args, "word");
    return pp_text("%s %lld %.2f %d %s %zu %d", word ? word : "-", (long long)pp_integer(args, "count"),
                   pp_number(args, "share"), pp_bool(args, "loud"), pp_string(args, "unit"),
                   pp_json_count(pp_value(args, "list")), pp_has(args, "word"));
}

static pp_result *pieces(pp_call *call, const pp_args *args)
{
    (void)call, (void)args;
    pp_result *result = pp_add_text(pp_nothing(), "here");
    pp_add_image(result, "png", 3, "image/png");
    pp_add_text_resource(result, "a:b", "text/csv", "1,2");
    return pp_add_link(result, "a:c", "c");
}

static pp_result *forgetful(pp_call *call, const pp_args *args)
{
    (void)call, (void)args;
    return NULL;
}

char own_schema[OWN_SCHEMA] = "{\"type\":\"object\"}";

static pp_result *validated(pp_call *call, const pp_args *args)
{
    (void)call;
    const char *note = pp_json_source(pp_value(args, "note")), *guests = pp_json_source(pp_value(args, "guests"));
    const char *friends = pp_json_source(pp_value(args, "friends")), *pets = pp_json_source(pp_value(args, "pets"));
    return pp_text("%lld %s %d %s %s %s", (long long)pp_integer(args, "nights"), note ? note : "-",
                   pp_has(args, "loud"), guests ? guests : "-", friends ? friends : "-", pets ? pets : "-");
}

static pp_result *defaults(pp_call *call, const pp_args *args)
{
    (void)call;
    return pp_text("%s %s", pp_json_source(pp_value(args, "list")), pp_json_source(pp_value(args, "other")));
}

static pp_result *nested_defaults(pp_call *call, const pp_args *args)
{
    (void)call;
    const char *trip = pp_json_source(pp_value(args, "trip"));
    return pp_text("%s %s", trip ? trip : "-", pp_json_source(pp_value(args, "rest")));
}

static const char trip_schema[] =
    "{\"type\":\"object\",\"properties\":{\"nights\":{\"type\":\"integer\",\"default\":1},"
    "\"guests\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
    "\"name\":{\"type\":\"string\"},\"age\":{\"type\":\"integer\",\"default\":30}}}},"
    "\"stop\":{\"type\":\"object\",\"default\":{},\"properties\":{\"city\":{\"default\":\"Rome\"}}}},"
    "\"additionalProperties\":{\"type\":\"object\",\"properties\":{\"x\":{\"default\":0}}}}";

static pp_result *placed_defaults(pp_call *call, const pp_args *args)
{
    (void)call;
    const char *listed = pp_json_source(pp_value(args, "listed")), *keyed = pp_json_source(pp_value(args, "keyed"));
    return pp_text("%s %s", listed ? listed : "-", keyed ? keyed : "-");
}

static const char listed_schema[] =
    "{\"type\":\"array\",\"prefixItems\":[{\"properties\":{\"a\":{\"default\":1}}}],"
    "\"items\":{\"properties\":{\"b\":{\"default\":2}}}}";
static const char keyed_schema[] =
    "{\"type\":\"object\",\"properties\":{\"k\":{\"properties\":{\"c\":{\"default\":3}}},"
    "\"z\\u0000y\":{\"default\":5},\"n\":{\"default\":6}},\"patternProperties\":{\"^x\":{}},"
    "\"additionalProperties\":{\"properties\":{\"d\":{\"default\":4}}}}";

static pp_result *open_defaults(pp_call *call, const pp_args *args)
{
    (void)call;
    return pp_text("%d %d %s", pp_has(args, "word"), pp_has(args, "broken"), pp_json_source(pp_value(args, "row")));
}

static pp_result *ratio(pp_call *call, const pp_args *args)
{
    (void)call;
    const char *json = pp_json_source(pp_value(args, "result"));
    pp_doc *doc = pp_object();
    if (!json) {
        return pp_text("nothing");
    }
    pp_put_json(doc, "ratio", json);
    return pp_structured(doc);
}

static pp_result *by_hand(pp_call *call, const pp_args *args)
{
    (void)call;
    return pp_text("%s", pp_json_source(pp_value(args, "anything")));
}

PP_TOOLS(
    {
        .name = "describe",
        .description = "Describe.",
        .call = describe,
        .hints = PP_READ_ONLY,
        .params =
            {
                PP_STRING("word", "A word.", .optional = true),
                PP_INTEGER_IN("count", 1, 10, "How many."),
                PP_NUMBER("share", "A share.", .otherwise = "0.5"),
                PP_BOOL("loud", "Loud.", .optional = true),
                PP_CHOICE("unit", "cm|in", "The unit.", .otherwise = "\"cm\""),
                PP_JSON("list", "{\"type\":\"array\"}", "A list.", .optional = true),
            },
    },
    {
        .name = "ratio",
        .description = "Return what came.",
        .call = ratio,
        .params = {PP_JSON("result", "{}", "The result.", .optional = true)},
        .returns = {PP_NUMBER_IN("ratio", 0, 1, "A ratio.")},
    },
    {
        .name = "exact",
        .description = "Far out.",
        .call = forgetful,
        .params = {PP_INTEGER_IN("n", INT64_MIN, 9007199254740993, "How many.")},
    },
    {.name = "pieces", .description = "Pieces.", .call = pieces},
    {.name = "forgetful", .description = "Nothing.", .call = forgetful},
    {
        .name = "defaults",
        .description = "Return the list.",
        .call = defaults,
        .params = {PP_JSON("list", "{\"type\":\"array\",\"default\":[1]}", "A list."),
                   PP_JSON("other", "{\"type\":\"array\",\"default\":[1]}", "Another.", .otherwise = "[2]")},
    },
    {
        .name = "nested_defaults",
        .description = "Return the trip.",
        .call = nested_defaults,
        .params = {PP_JSON("trip", trip_schema, "A trip.", .optional = true),
                   PP_JSON("rest", "{\"default\":{\"a\":1},\"properties\":{\"b\":{\"default\":2}}}", "The rest.")},
    },
    {
        .name = "placed_defaults",
        .description = "Return both.",
        .call = placed_defaults,
        .params = {PP_JSON("listed", listed_schema, "A list.", .optional = true),
                   PP_JSON("keyed", keyed_schema, "An object.", .optional = true)},
    },
    {
        .name = "open_defaults",
        .description = "Rows that no client sees.",
        .call = open_defaults,
        .input_schema = "{\"type\":\"object\",\"properties\":{\"word\":{\"default\":1}}}",
        .params = {PP_JSON("word", "true", "A word.", .optional = true),
                   PP_JSON("broken", "{\"default\":1}", "Broken.", .otherwise = "no JSON"),
                   PP_JSON("row", "{\"default\":{},\"properties\":{\"a\":{\"default\":1}}}", "A row.")},
    },
    {
        .name = "by_hand",
        .description = "A schema of its own.",
        .call = by_hand,
        .input_schema = "{\"type\":\"object\"}",
    },
    {.name = "validated", .description = "A schema of a test.", .call = validated, .input_schema = own_schema});

static pp_result *note(pp_call *call, const pp_args *words)
{
    (void)call;
    const char *number = pp_string(words, "number");
    return strcmp(number, "0") == 0 ? pp_not_found("there is no note 0") : pp_text("Note %s", number);
}

static pp_result *picture(pp_call *call, const pp_args *words)
{
    (void)call, (void)words;
    return pp_bytes("\x89PNG", 4, "image/png");
}

PP_RESOURCES({.uri = "notes://note/{number}", .name = "note", .read = note},
             {.uri = "notes://note/cover", .name = "cover", .read = picture});

static pp_result *review(pp_call *call, const pp_args *args)
{
    (void)call;
    pp_result *result = pp_add_user(pp_nothing(), "Review %s.", pp_string(args, "code"));
    return pp_add_assistant(result, "In %s?", pp_string(args, "language"));
}

static void suggest_languages(pp_call *call, const char *typed, const pp_args *context, pp_suggestions *out)
{
    (void)call;
    pp_suggest(out, pp_has(context, "code") ? "context" : typed);
}

PP_PROMPTS({
    .name = "review",
    .description = "Review code.",
    .get = review,
    .params = {PP_STRING("code", "The code."), PP_STRING("language", "Its language.", .otherwise = "\"C\"")},
});

PP_COMPLETIONS({.prompt = "review", .argument = "language", .choices = "C|C++|Rust", .suggest = suggest_languages});

static void arguments_are_read_and_have_defaults(void)
{
    PP_CHECK_TEXT(pp_test_call("describe", "{\"count\":3}").text, "- 3 0.50 0 cm 0 0");
    const char *all = "{\"word\":\"x\",\"count\":1e1,\"share\":1,\"loud\":true,\"unit\":\"in\",\"list\":[1,2]}";
    PP_CHECK_TEXT(pp_test_call("describe", all).text, "x 10 1.00 1 in 2 1");
    PP_CHECK_TEXT(pp_test_call("by_hand", "{\"anything\":{\"a\":1}}").text, "{\"a\":1}");
}

/* What the SDK itself says, which clients read only if a schema of the author's own lets the arguments pass. */
static void rejects(const char *args, const char *why)
{
    pp_test_result result = ppt_call("describe", args);
    PP_CHECK(result.is_error);
    PP_CHECK_TEXT(result.text, why);
}

static void wrong_arguments_are_explained(void)
{
    rejects("{}", "the argument `count` is missing");
    rejects("{\"count\":0}", "the argument `count` must be a whole number from 1 to 10");
    rejects("{\"count\":\"1\"}", "the argument `count` must be a whole number from 1 to 10");
    rejects("{\"count\":1,\"word\":\"a\\u0000b\"}", "the argument `word` must not have U+0000 in it");
    rejects("{\"count\":1,\"unit\":\"ft\"}", "the argument `unit` must be one of cm|in");
    rejects("{\"count\":1,\"loud\":1}", "the argument `loud` must be true or false");
    rejects("{\"count\":1,\"wrod\":\"a\"}",
            "there is no argument `wrod`; this tool takes word, count, share, loud, unit, list");
    rejects("[]", "the arguments must be a JSON object");
    PP_CHECK(pp_test_call("describe", "{").failure == PP_FAILED_INVALID_PARAMS);
}

static void a_null_is_nothing_where_something_may_be_missing(void)
{
    const char *nulls = "{\"count\":2,\"word\":null,\"share\":null,\"loud\":null,\"unit\":null}";
    PP_CHECK_TEXT(pp_test_call("describe", nulls).text, pp_test_call("describe", "{\"count\":2}").text);
    rejects("{\"count\":null}", "the argument `count` must be a whole number from 1 to 10");
}

static void defaults_in_schemas_are_filled_in(void)
{
    PP_CHECK_TEXT(pp_test_call("defaults", "{}").text, "[1] [2]");
    PP_CHECK_TEXT(pp_test_call("defaults", "{\"list\":[],\"other\":[3]}").text, "[] [3]");
    PP_CHECK_TEXT(pp_test_input_schema("defaults"),
                  "{\"type\":\"object\",\"properties\":{\"list\":{\"type\":\"array\",\"default\":[1],"
                  "\"description\":\"A list.\"},\"other\":{\"type\":\"array\",\"description\":\"Another.\","
                  "\"default\":[2]}},\"additionalProperties\":false}");
}

static void check_filled(const char *args, const char *expected)
{
    PP_CHECK_TEXT(pp_test_call("nested_defaults", args).text, expected);
}

static void defaults_of_members_are_filled_in(void)
{
    check_filled("{}", "- {\"a\":1,\"b\":2}");
    check_filled("{\"trip\":{},\"rest\":{\"b\":3}}", "{\"nights\":1,\"stop\":{\"city\":\"Rome\"}} {\"b\":3}");
    check_filled("{\"trip\":{\"nights\":null,\"guests\":[{\"name\":\"A\"},{\"age\":1}],\"stop\":{\"city\":\"Oslo\"},"
                 "\"more\":{}}}",
                 "{\"guests\":[{\"name\":\"A\",\"age\":30},{\"age\":1}],\"stop\":{\"city\":\"Oslo\"},"
                 "\"more\":{\"x\":0},\"nights\":1} {\"a\":1,\"b\":2}");
}

/* Without the validation of the double, which writes the arguments anew. */
static void check_placed(const char *args, const char *expected)
{
    PP_CHECK_TEXT(ppt_call("placed_defaults", args).text, expected);
}

static void defaults_stand_where_the_keywords_of_lists_put_them(void)
{
    check_placed("{\"listed\":[{},{},{\"b\":0}]}", "[{\"a\":1},{\"b\":2},{\"b\":0}] -");
    check_placed("{\"listed\":[ {\"a\" : 0} ]}", "[ {\"a\" : 0} ] -");
    /* whether a pattern fits a key is not found out */
    check_placed("{\"keyed\":{\"k\":{},\"x\":{},\"n\":0,\"z\\u0000y\":1}}",
                 "- {\"k\":{\"c\":3},\"x\":{},\"n\":0,\"z\\u0000y\":1}");
}

static void keys_with_a_zero_are_other_keys(void)
{
    PP_CHECK_TEXT(pp_test_call("placed_defaults", "{\"keyed\":{\"k\\u0000\":{},\"n\\u0000\":0}}").text,
                  "- {\"k\\u0000\":{},\"n\\u0000\":0,\"z\\u0000y\":5,\"n\":6}");
}

/* The defaults of the schema of the author's own are left to the function. */
static void rows_beside_a_schema_of_its_own_have_their_defaults(void)
{
    PP_CHECK_TEXT(pp_test_call("open_defaults", "{}").text, "0 0 {\"a\":1}");
    PP_CHECK_TEXT(pp_test_call("open_defaults", "{\"word\":{},\"row\":{\"a\":2}}").text, "1 0 {\"a\":2}");
}

static void limits_of_integers_are_exact(void)
{
    const char *schema = pp_test_input_schema("exact");
    PP_CHECK(strstr(schema, "\"minimum\":-9223372036854775808,\"maximum\":9007199254740993") != NULL);
    PP_CHECK(!pp_test_call("exact", "{\"n\":9007199254740993}").is_error);
    pp_test_result beyond = ppt_call("exact", "{\"n\":9007199254740994}");
    PP_CHECK_TEXT(beyond.text, "the argument `n` must be a whole number from -9223372036854775808 to 9007199254740993");
    beyond = pp_test_call("exact", "{\"n\":9007199254740994}");
    PP_CHECK(strstr(beyond.text, "greater than the maximum of 9007199254740993"));
}

static void schemas_follow_from_tables(void)
{
    PP_CHECK_TEXT(pp_test_input_schema("describe"),
                  "{\"type\":\"object\",\"properties\":{\"word\":{\"type\":\"string\",\"description\":\"A word.\"},"
                  "\"count\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10,\"description\":\"How many.\"},"
                  "\"share\":{\"type\":\"number\",\"description\":\"A share.\",\"default\":0.5},"
                  "\"loud\":{\"type\":\"boolean\",\"description\":\"Loud.\"},"
                  "\"unit\":{\"type\":\"string\",\"enum\":[\"cm\",\"in\"],\"description\":\"The unit.\","
                  "\"default\":\"cm\"},\"list\":{\"type\":\"array\",\"description\":\"A list.\"}},"
                  "\"required\":[\"count\"],\"additionalProperties\":false}");
    PP_CHECK_TEXT(pp_test_output_schema("ratio"),
                  "{\"type\":\"object\",\"properties\":{\"ratio\":{\"type\":\"number\",\"minimum\":0,\"maximum\":1,"
                  "\"description\":\"A ratio.\"}},\"required\":[\"ratio\"]}");
    PP_CHECK_TEXT(pp_test_input_schema("by_hand"), "{\"type\":\"object\"}");
    PP_CHECK(!pp_test_output_schema("by_hand"));
}

static void results_have_pieces(void)
{
    pp_test_result result = pp_test_call("pieces", "{}");
    PP_CHECK(result.count == 4 && result.size == 3 && memcmp(result.data, "png", 3) == 0);
    PP_CHECK_TEXT(result.text, "here\n1,2\na:c");
    result = pp_test_call("forgetful", "{}");
    PP_CHECK(result.failed && result.failure == PP_FAILED_INTERNAL);
    PP_CHECK(pp_test_call("nobody", "{}").failure == PP_FAILED_NOT_FOUND);
}

static void resources_are_read(void)
{
    const char *note = "notes://note/{number}";
    pp_test_result seventh = pp_test_read_template(note, "notes://note/7", "{\"number\":\"7\"}");
    PP_CHECK_TEXT(seventh.text, "Note 7");
    PP_CHECK_TEXT(seventh.mime_type, "text/plain");
    pp_test_result cover = pp_test_read_template(note, "notes://note/cover", "{\"number\":\"cover\"}");
    PP_CHECK(cover.size == 4 && !*cover.text);
    PP_CHECK_TEXT(cover.mime_type, "image/png");
    PP_CHECK(pp_test_read_template(note, "notes://note/0", "{\"number\":\"0\"}").failure == PP_FAILED_NOT_FOUND);
    PP_CHECK(pp_test_read_template("notes://{id}", "notes://7", "{}").failure == PP_FAILED_NOT_FOUND);
    PP_CHECK(pp_test_read(note).failure == PP_FAILED_NOT_FOUND);
    PP_CHECK(pp_test_read("notes://other").failure == PP_FAILED_NOT_FOUND);
}

static void prompts_are_got_and_completed(void)
{
    PP_CHECK_TEXT(pp_test_prompt("review", "{\"code\":\"x\"}").text, "user: Review x.\nassistant: In C?");
    PP_CHECK_TEXT(pp_test_prompt("review", "{}").text, "the argument `code` is missing");
    PP_CHECK_TEXT(pp_test_complete("review", "language", "c"), "C|C++|c");
    PP_CHECK_TEXT(pp_test_complete("review", "code", "c"), "");
}

void test_plugin(void)
{
    arguments_are_read_and_have_defaults();
    wrong_arguments_are_explained();
    a_null_is_nothing_where_something_may_be_missing();
    defaults_in_schemas_are_filled_in();
    defaults_of_members_are_filled_in();
    defaults_stand_where_the_keywords_of_lists_put_them();
    keys_with_a_zero_are_other_keys();
    rows_beside_a_schema_of_its_own_have_their_defaults();
    limits_of_integers_are_exact();
    schemas_follow_from_tables();
    results_have_pieces();
    resources_are_read();
    prompts_are_got_and_completed();
}
