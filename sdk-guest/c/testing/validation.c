/* Validates arguments as the server does before it calls a tool, and results afterwards, in its words.
 *
 * It knows the keywords that tables have and most people write; the server validates the others too.
 */
#include <string.h>

#include "validation.h"

/* Faults that one message names, and the longest description of one in bytes. */
#define MOST_FAULTS 5
#define FAULT_LENGTH 300

const pp_json *ppt_property(const pp_json *schema, const pp_json *member)
{
    return ppi_json_member(pp_json_member(schema, "properties"), member->key, member->key_length);
}

static const char *truncated(const char *text)
{
    size_t end = FAULT_LENGTH;
    if (strlen(text) <= end) {
        return text;
    }
    /* the bytes of one character stay together */
    while (((unsigned char)text[end] & 0xC0) == 0x80) {
        end--;
    }
    return ppt_format("%.*s…", (int)end, text);
}

void ppt_add_fault(ppt_faults *faults, const char *text)
{
    if (faults->count < MOST_FAULTS) {
        faults->text = ppt_format("%s%s%s", faults->text, faults->count > 0 ? "; " : "", truncated(text));
    }
    faults->count++;
}

/* A name as a step of a JSON pointer (RFC 6901). */
static const char *below(const char *at, const char *name)
{
    const char *path = ppt_format("%s/", at);
    for (; *name; name++) {
        const char *step = *name == '~' ? "~0" : *name == '/' ? "~1" : NULL;
        path = step ? ppt_format("%s%s", path, step) : ppt_format("%s%c", path, *name);
    }
    return path;
}

static bool is_false(const pp_json *schema)
{
    return pp_json_kind_of(schema) == PP_JSON_BOOL && !pp_json_is_true(schema);
}

static void check(const pp_json *root, const pp_json *schema, const pp_json *value, const char *at, ppt_faults *faults);

static void check_object(const pp_json *root, const pp_json *schema, const pp_json *value, const char *at,
                         ppt_faults *faults)
{
    const pp_json *others = pp_json_member(schema, "additionalProperties");
    const char *unknown = NULL;
    size_t count = 0;
    for (const pp_json *one = pp_json_at(pp_json_member(schema, "required"), 0); one; one = pp_json_next(one)) {
        size_t length = 0;
        const char *name = pp_json_text(one, &length);
        if (name && !ppi_json_member(value, name, length)) {
            ppt_add_fault(faults, ppt_format("%s: is required and missing", below(at, name)));
        }
    }
    for (const pp_json *one = pp_json_at(value, 0); one; one = pp_json_next(one)) {
        const char *place = below(at, pp_json_key(one));
        const pp_json *property = ppt_property(schema, one);
        if (property) {
            check(root, property, one, place, faults);
        } else if (pp_json_member(schema, "patternProperties")) {
            continue; /* which names it has is for the server to find out */
        } else if (!is_false(others)) {
            check(root, others, one, place, faults);
        } else if (count++ < MOST_FAULTS) {
            unknown = unknown ? ppt_format("%s, %s", unknown, place) : place;
        }
    }
    if (unknown) {
        ppt_add_fault(faults, ppt_format("%s: not a known property", unknown));
    }
}

static void check_items(const pp_json *root, const pp_json *schema, const pp_json *value, const char *at,
                        ppt_faults *faults)
{
    const pp_json *prefix = pp_json_member(schema, "prefixItems"), *items = pp_json_member(schema, "items");
    for (size_t index = 0; index < pp_json_count(value); index++) {
        const pp_json *inner = index < pp_json_count(prefix) ? pp_json_at(prefix, index) : items;
        check(root, inner, pp_json_at(value, index), ppt_format("%s/%zu", at, index), faults);
    }
}

static void check_choices(const pp_json *root, const pp_json *schema, const pp_json *value, const char *at,
                          ppt_faults *faults)
{
    static const char *const words[] = {"anyOf", "oneOf"};
    for (const pp_json *one = pp_json_at(pp_json_member(schema, "allOf"), 0); one; one = pp_json_next(one)) {
        check(root, one, value, at, faults);
    }
    for (size_t word = 0; word < 2; word++) {
        const pp_json *choices = pp_json_member(schema, words[word]);
        size_t fitting = 0;
        for (const pp_json *one = pp_json_at(choices, 0); one; one = pp_json_next(one)) {
            ppt_faults own = {"", 0};
            check(root, one, value, at, &own);
            fitting += own.count == 0;
        }
        const char *said = ppt_format("%s: %s", *at ? at : "/", ppt_written(root, NULL, value));
        if (choices && fitting == 0) {
            ppt_add_fault(faults, ppt_format("%s is not valid under any of the schemas listed in the '%s' keyword",
                                             said, words[word]));
        } else if (word == 1 && fitting > 1) {
            ppt_add_fault(faults, ppt_format("%s is valid under more than one of the schemas listed in the 'oneOf' "
                                             "keyword",
                                             said));
        }
    }
}

static void check(const pp_json *root, const pp_json *schema, const pp_json *value, const char *at, ppt_faults *faults)
{
    schema = ppt_resolved(root, schema);
    if (is_false(schema)) {
        ppt_add_fault(faults, ppt_format("%s: nothing is allowed here", at));
    }
    if (pp_json_kind_of(schema) != PP_JSON_OBJECT) {
        return;
    }
    ppt_check_keywords(schema, value, *at ? at : "/", faults);
    if (pp_json_kind_of(value) == PP_JSON_OBJECT) {
        check_object(root, schema, value, at, faults);
    } else if (pp_json_kind_of(value) == PP_JSON_ARRAY) {
        check_items(root, schema, value, at, faults);
    }
    check_choices(root, schema, value, at, faults);
}

/* What is wrong with a value, or NULL. */
static const char *mismatch(const pp_json *schema, const pp_json *value)
{
    ppt_faults faults = {"", 0};
    check(schema, schema, value, "", &faults);
    return faults.count > 0 ? faults.text : NULL;
}

static pp_test_result rejected(const char *text, bool is_error)
{
    pp_test_result result = {.text = text, .is_error = is_error, .count = is_error};
    result.failed = !is_error;
    result.failure = PP_FAILED_INTERNAL;
    return result;
}

bool ppt_validate(const char *tool, const char **args, pp_test_result *result)
{
    const char *text = pp_test_input_schema(tool);
    const pp_json *given = pp_json_parse(*args, strlen(*args), NULL);
    if (!text || pp_json_kind_of(given) != PP_JSON_OBJECT) {
        return true; /* the call says what is wrong */
    }
    const pp_json *schema = pp_json_parse(text, strlen(text), NULL);
    const char *type = pp_json_text(pp_json_member(schema, "type"), NULL);
    if (!type || strcmp(type, "object") != 0) {
        *result = rejected("the server would reject this tool: its input schema must have \"type\": \"object\"", false);
        return false;
    }
    *args = ppt_written(schema, schema, given);
    given = pp_json_parse(*args, strlen(*args), NULL);
    const char *faults = mismatch(schema, given);
    if (faults) {
        *result = rejected(ppt_format("the arguments do not fit the tool's schema: %s", faults), true);
    }
    return !faults;
}

void ppt_validate_result(const char *tool, pp_test_result *result)
{
    static const char invalid[] = "the tool returned an invalid result";
    const char *text = result->is_error || result->failed ? NULL : pp_test_output_schema(tool);
    if (text && !result->structured) {
        *result = rejected(ppt_format("%s: it promises structured content and gave none", invalid), true);
    } else if (text) {
        const pp_json *schema = pp_json_parse(text, strlen(text), NULL);
        const char *faults = mismatch(schema, pp_json_parse(result->structured, strlen(result->structured), NULL));
        if (faults) {
            *result = rejected(
                ppt_format("%s: its structured content does not fit its schema: %s", invalid, faults), true);
        }
    }
}
