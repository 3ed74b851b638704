/* Fills in the defaults that the schema of a PP_JSON has for members.
 *
 * An argument that lacks some is written anew: as it came, with what is missing at the end of its object. Schemas
 * behind `$ref`, `allOf`, `anyOf` and `oneOf` are not looked into: which of them a value fits is for the host to find
 * out.
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
    const pp_json *property = ppi_json_member(pp_json_member(schema, "properties"), one->key, one->key_length);
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

/* The default of a property that an object lacks, or NULL. */
static const pp_json *missing_default(const pp_json *property, const pp_json *object)
{
    bool is_given = !property->key || ppi_json_member(object, property->key, property->key_length);
    return is_given ? NULL : pp_json_member(property, "default");
}

static void put_missing(pp_doc *doc, const pp_json *schema, const pp_json *object)
{
    bool begun = object->count > 0;
    const pp_json *properties = pp_json_member(schema, "properties");
    for (const pp_json *property = pp_json_at(properties, 0); property; property = property->next) {
        const pp_json *otherwise = missing_default(property, object);
        if (!otherwise) {
            continue;
        }
        ppi_put_bytes(doc, ",", begun);
        ppi_put_quoted(doc, property->key, property->key_length);
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

/* Whether a value, or what is in it, lacks a member that has a default. */
static bool is_incomplete(const pp_json *schema, const pp_json *value)
{
    if (!is_list(value) || pp_json_kind_of(schema) != PP_JSON_OBJECT) {
        return false;
    }
    size_t index = 0;
    for (const pp_json *one = value->first; one; one = one->next) {
        if (is_incomplete(schema_within(schema, value, one, index++), one)) {
            return true;
        }
    }
    const pp_json *properties = value->kind == PP_JSON_OBJECT ? pp_json_member(schema, "properties") : NULL;
    for (const pp_json *property = pp_json_at(properties, 0); property; property = property->next) {
        if (missing_default(property, value)) {
            return true;
        }
    }
    return false;
}

/* The value with the defaults of its row. It is written anew only if one is missing. */
static const pp_json *filled_one(const pp_param *row, const pp_json *value)
{
    const pp_json *schema = pp_json_parse(row->detail, strlen(row->detail), NULL);
    if (!is_incomplete(schema, value)) {
        return value;
    }
    pp_doc *doc = pp_array();
    put_filled(doc, schema, value);
    const char *text = pp_doc_text(doc);
    /* Without the brackets of the document. A default is less deep than the schema around it, so this is JSON. */
    return pp_json_parse(text + 1, strlen(text) - 2, NULL);
}

/* Adds a copy, since the value stands in another list already. What is in the value is shared. */
static void add_copy(pp_json *object, const char *key, size_t key_length, const pp_json *value)
{
    pp_json *copy = pp_alloc(sizeof *copy);
    *copy = *value;
    copy->key = key;
    copy->key_length = key_length;
    copy->next = NULL;
    ppi_json_add(object, copy);
}

/* Whether a schema of the author's own may have defaults. Most have none, and then nothing is read or copied. */
static bool may_have_defaults(const pp_param *row)
{
    return row && row->kind == PP_KIND_JSON && strstr(row->detail, "\"default\"");
}

static bool may_any_have_defaults(const pp_args *args)
{
    for (size_t at = 0; at < args->count; at++) {
        if (may_have_defaults(&args->params[at])) {
            return true;
        }
    }
    return false;
}

/* Adds an argument with its defaults. The last one of a name counts, so a client that sends a name often has only that
 * one read against its schema. */
static void add_filled(pp_json *object, const pp_param *row, const pp_json *value)
{
    const char *text = value ? NULL : ppi_default(row);
    const pp_json *given = text ? pp_json_parse(text, strlen(text), NULL) : value;
    /* the author may have written something that is no JSON, which fills in nothing */
    const pp_json *filled = given ? filled_one(row, given) : NULL;
    if (filled != value) {
        add_copy(object, row->name, strlen(row->name), filled);
    }
}

const pp_json *ppi_filled(const pp_args *args)
{
    if (!may_any_have_defaults(args)) {
        return args->values;
    }
    pp_json *filled = ppi_json_new(PP_JSON_OBJECT);
    for (const pp_json *one = args->values->first; one; one = one->next) {
        add_copy(filled, one->key, one->key_length, one);
    }
    for (size_t at = 0; at < args->count; at++) {
        const pp_param *row = &args->params[at];
        if (may_have_defaults(row)) {
            add_filled(filled, row, pp_json_member(args->values, row->name));
        }
    }
    return filled;
}
