/* Fills in the defaults that the schema of a PP_JSON has for members.
 *
 * The arguments are copied as they were written, and what is missing stands at the end of its object. Schemas behind
 * `$ref`, `allOf`, `anyOf` and `oneOf` are not looked into: which of them a value fits is for the host to find out.
 */
#include "internal.h"

static bool is_list(const pp_json *value)
{
    return pp_json_kind_of(value) == PP_JSON_ARRAY || pp_json_kind_of(value) == PP_JSON_OBJECT;
}

/* The schema of a value in a list, or NULL. */
static const pp_json *schema_within(const pp_json *schema, const pp_json *list, const pp_json *one, size_t index)
{
    if (list->kind == PP_JSON_ARRAY) {
        const pp_json *prefix = pp_json_at(pp_json_member(schema, "prefixItems"), index);
        return prefix ? prefix : pp_json_member(schema, "items");
    }
    const pp_json *property = pp_json_member(pp_json_member(schema, "properties"), one->key);
    bool has_patterns = pp_json_member(schema, "patternProperties") != NULL;
    return property || has_patterns ? property : pp_json_member(schema, "additionalProperties");
}

static void put_inside(pp_doc *doc, const pp_json *schema, const pp_json *list);

static void put_filled(pp_doc *doc, const pp_json *schema, const pp_json *value)
{
    if (!is_list(value) || pp_json_kind_of(schema) != PP_JSON_OBJECT) {
        ppi_put_bytes(doc, value->source, value->source_length);
        return;
    }
    ppi_put_bytes(doc, value->source, 1);
    put_inside(doc, schema, value);
    ppi_put_bytes(doc, value->source + value->source_length - 1, 1);
}

static void put_missing(pp_doc *doc, const pp_json *schema, const pp_json *object)
{
    bool begun = object->count > 0;
    const pp_json *properties = pp_json_member(schema, "properties");
    for (const pp_json *property = pp_json_at(properties, 0); property; property = property->next) {
        const pp_json *otherwise = pp_json_member(property, "default");
        if (!property->key || !otherwise || pp_json_member(object, property->key)) {
            continue;
        }
        ppi_put_bytes(doc, ",", begun);
        ppi_put_quoted(doc, property->key);
        ppi_put_bytes(doc, ":", 1);
        put_filled(doc, property, otherwise);
        begun = true;
    }
}

/* What stands between the brackets of a list. */
static void put_inside(pp_doc *doc, const pp_json *schema, const pp_json *list)
{
    const char *from = list->source + 1, *end = list->source + list->source_length - 1;
    size_t index = 0;
    for (const pp_json *one = list->first; one; one = one->next) {
        ppi_put_bytes(doc, from, (size_t)(one->source - from));
        put_filled(doc, schema_within(schema, list, one, index++), one);
        from = one->source + one->source_length;
    }
    ppi_put_bytes(doc, from, (size_t)(end - from));
    if (list->kind == PP_JSON_OBJECT) {
        put_missing(doc, schema, list);
    }
}

/* Whether a schema of the author's own may have defaults. Most have none, and then nothing is copied. */
static bool may_have_defaults(const pp_args *args)
{
    for (size_t at = 0; at < args->count; at++) {
        const pp_param *param = &args->params[at];
        if (param->kind == PP_KIND_JSON && strstr(param->detail, "\"default\"")) {
            return true;
        }
    }
    return false;
}

const pp_json *ppi_filled(const pp_args *args)
{
    if (!may_have_defaults(args)) {
        return args->values;
    }
    const char *text = ppi_schema(args->params, args->count, false);
    const pp_json *schema = pp_json_parse(text, strlen(text), NULL);
    pp_doc *doc = pp_object();
    put_inside(doc, schema, args->values);
    text = pp_doc_text(doc);
    const pp_json *filled = pp_json_parse(text, strlen(text), NULL);
    /* a default that is no JSON fills in nothing */
    return filled ? filled : args->values;
}
