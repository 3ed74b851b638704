/* Explicit nulls that stand for optional arguments are removed, as the server does before it validates. */
#include <string.h>

#include "validation.h"

/* References followed one after the other, and levels of nested choices. */
#define HOPS 8
#define DEPTH 16

/* The member of a step of a JSON pointer (RFC 6901). */
static const pp_json *step_into(const pp_json *value, const char *step, size_t length)
{
    char *name = ppt_keep(length + 1), *to = name;
    for (size_t at = 0; at < length; at++) {
        bool is_escape = step[at] == '~' && at + 1 < length;
        *to++ = is_escape ? (step[++at] == '1' ? '/' : '~') : step[at];
    }
    return pp_json_member(value, name);
}

const pp_json *ppt_resolved(const pp_json *root, const pp_json *schema)
{
    for (int hop = 0; hop < HOPS; hop++) {
        const char *reference = pp_json_text(pp_json_member(schema, "$ref"), NULL);
        const pp_json *target = reference && *reference == '#' ? root : NULL;
        const char *step = target ? strchr(reference, '/') : NULL;
        while (target && step) {
            size_t length = strcspn(step + 1, "/");
            target = step_into(target, step + 1, length);
            step = step[1 + length] ? step + 1 + length : NULL;
        }
        if (!target) {
            return schema;
        }
        schema = target;
    }
    return schema;
}

static bool has_text(const pp_json *list, const char *wanted, size_t wanted_length)
{
    for (const pp_json *one = pp_json_at(list, 0); one; one = pp_json_next(one)) {
        size_t length = 0;
        const char *text = pp_json_text(one, &length);
        if (text && length == wanted_length && memcmp(text, wanted, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool type_allows_null(const pp_json *type)
{
    const char *name = pp_json_text(type, NULL);
    return !type || has_text(type, "null", strlen("null")) || (name && strcmp(name, "null") == 0);
}

static bool values_allow_null(const pp_json *schema)
{
    const pp_json *choices = pp_json_member(schema, "enum"), *wanted = pp_json_member(schema, "const");
    if (!choices) {
        return !wanted || pp_json_kind_of(wanted) == PP_JSON_NULL;
    }
    for (const pp_json *one = pp_json_at(choices, 0); one; one = pp_json_next(one)) {
        if (pp_json_kind_of(one) == PP_JSON_NULL) {
            return true;
        }
    }
    return false;
}

/* Whether null fits, or may fit in a way that is not understood here. */
static bool may_be_null(const pp_json *root, const pp_json *schema, int depth)
{
    static const char *const words[] = {"anyOf", "oneOf"};
    schema = ppt_resolved(root, schema);
    if (depth == 0 || pp_json_kind_of(schema) != PP_JSON_OBJECT) {
        return true;
    }
    bool allowed = type_allows_null(pp_json_member(schema, "type")) && values_allow_null(schema);
    for (size_t word = 0; word < 2; word++) {
        const pp_json *choices = pp_json_member(schema, words[word]);
        bool any = !choices;
        for (const pp_json *one = pp_json_at(choices, 0); one; one = pp_json_next(one)) {
            any |= may_be_null(root, one, depth - 1);
        }
        allowed &= any;
    }
    return allowed;
}

static bool is_absent(const pp_json *root, const pp_json *schema, const pp_json *member)
{
    const pp_json *property = ppt_property(schema, member);
    return pp_json_kind_of(member) == PP_JSON_NULL && property &&
           !has_text(pp_json_member(schema, "required"), member->key, member->key_length) &&
           !may_be_null(root, property, DEPTH);
}

/* The schema of a member, or NULL. Which names `patternProperties` has is not found out, as in the server. */
static const pp_json *schema_of_member(const pp_json *schema, const pp_json *member)
{
    const pp_json *property = ppt_property(schema, member);
    bool has_patterns = pp_json_member(schema, "patternProperties") != NULL;
    return property || has_patterns ? property : pp_json_member(schema, "additionalProperties");
}

const char *ppt_written(const pp_json *root, const pp_json *schema, const pp_json *value)
{
    pp_json_kind kind = pp_json_kind_of(value);
    if (kind == PP_JSON_TEXT) {
        return ppt_quoted(value->text, value->length);
    }
    if (kind != PP_JSON_ARRAY && kind != PP_JSON_OBJECT) {
        return pp_json_source(value);
    }
    bool is_object = kind == PP_JSON_OBJECT;
    const char *all = is_object ? "{" : "[", *before = "";
    schema = ppt_resolved(root, schema);
    for (const pp_json *one = pp_json_at(value, 0); one; one = pp_json_next(one)) {
        if (is_object && is_absent(root, schema, one)) {
            continue;
        }
        const pp_json *inner = is_object ? schema_of_member(schema, one) : pp_json_member(schema, "items");
        const char *name = is_object ? ppt_format("%s:", ppt_quoted(one->key, one->key_length)) : "";
        all = ppt_format("%s%s%s%s", all, before, name, ppt_written(root, inner, one));
        before = ",";
    }
    return ppt_format("%s%s", all, is_object ? "}" : "]");
}
