/* Checks what a person filled in as the server does before a plugin gets it, in its words.
 *
 * MCP has few keywords for the fields of a form, and the server checks those. Formats, and keywords that MCP does not
 * have, are for the client.
 */
#include <string.h>

#include "testing.h"

/* Whether a client may add a field with this value. */
static bool is_plain(const pp_json *value)
{
    pp_json_kind kind = pp_json_kind_of(value);
    for (const pp_json *one = kind == PP_JSON_ARRAY ? pp_json_at(value, 0) : NULL; one; one = pp_json_next(one)) {
        if (pp_json_kind_of(one) != PP_JSON_TEXT) {
            return false;
        }
    }
    return kind != PP_JSON_NULL && kind != PP_JSON_OBJECT;
}

static bool is_within(double size, const pp_json *field, const char *least, const char *most)
{
    const pp_json *from = pp_json_member(field, least), *to = pp_json_member(field, most);
    bool is_below = pp_json_kind_of(from) == PP_JSON_NUMBER && size < pp_json_number(from);
    bool is_above = pp_json_kind_of(to) == PP_JSON_NUMBER && size > pp_json_number(to);
    return !is_below && !is_above;
}

static double characters(const pp_json *value)
{
    size_t length = 0, count = 0;
    const char *text = pp_json_text(value, &length);
    for (size_t at = 0; at < length; at++) {
        count += ((unsigned char)text[at] & 0xC0) != 0x80;
    }
    return (double)count;
}

static bool is_whole(const pp_json *value)
{
    double number = pp_json_number(value);
    /* larger ones have no fraction */
    bool is_large = number > 9e15 || number < -9e15;
    return is_large || number == (double)(int64_t)number;
}

static bool is_same(const pp_json *left, const pp_json *right)
{
    size_t length = 0, other = 0;
    const char *text = pp_json_text(left, &length), *wanted = pp_json_text(right, &other);
    return text && wanted && length == other && memcmp(text, wanted, length) == 0;
}

/* Whether a value is one of the choices of a field. An `open` field without choices takes any value. */
static bool is_chosen(const pp_json *field, const pp_json *value, bool open)
{
    const pp_json *choices = pp_json_member(field, "enum");
    bool is_titled = pp_json_kind_of(choices) != PP_JSON_ARRAY, any = false;
    if (is_titled) {
        choices = pp_json_member(field, "oneOf");
        choices = choices ? choices : pp_json_member(field, "anyOf");
    }
    bool are_listed = pp_json_kind_of(choices) == PP_JSON_ARRAY;
    for (const pp_json *one = are_listed ? pp_json_at(choices, 0) : NULL; one; one = pp_json_next(one)) {
        const pp_json *choice = is_titled ? pp_json_member(one, "const") : one;
        if (is_same(choice, value)) {
            return true;
        }
        any |= choice != NULL;
    }
    return open && !any;
}

static bool are_chosen(const pp_json *field, const pp_json *list)
{
    const pp_json *items = pp_json_member(field, "items");
    for (const pp_json *one = pp_json_at(list, 0); one; one = pp_json_next(one)) {
        if (!is_chosen(items, one, false)) {
            return false;
        }
    }
    return true;
}

static bool fits(const pp_json *field, const pp_json *value)
{
    const char *type = pp_json_text(pp_json_member(field, "type"), NULL);
    type = type ? type : "";
    switch (pp_json_kind_of(value)) {
    case PP_JSON_TEXT:
        return strcmp(type, "string") == 0 && is_within(characters(value), field, "minLength", "maxLength") &&
               is_chosen(field, value, true);
    case PP_JSON_NUMBER:
        return (strcmp(type, "number") == 0 || (strcmp(type, "integer") == 0 && is_whole(value))) &&
               is_within(pp_json_number(value), field, "minimum", "maximum");
    case PP_JSON_BOOL:
        return strcmp(type, "boolean") == 0;
    case PP_JSON_ARRAY:
        return strcmp(type, "array") == 0 &&
               is_within((double)pp_json_count(value), field, "minItems", "maxItems") && are_chosen(field, value);
    default:
        return false;
    }
}

const char *ppt_form_fault(const pp_json *schema, const pp_json *content)
{
    if (pp_json_kind_of(content) != PP_JSON_OBJECT) {
        return "`content` is missing";
    }
    for (const pp_json *one = pp_json_at(pp_json_member(schema, "required"), 0); one; one = pp_json_next(one)) {
        size_t length = 0;
        const char *name = pp_json_text(one, &length);
        if (name && !ppi_json_member(content, name, length)) {
            return ppt_format("the field `%s` is missing", name);
        }
    }
    for (const pp_json *one = pp_json_at(content, 0); one; one = pp_json_next(one)) {
        const pp_json *field = ppt_property(schema, one);
        if (!field && !is_plain(one)) {
            return ppt_format("the field `%s` is not part of the form", pp_json_key(one));
        }
        if (field && !fits(field, one)) {
            return ppt_format("the field `%s` does not fit the form", pp_json_key(one));
        }
    }
    return NULL;
}
