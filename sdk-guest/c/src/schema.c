/* From rows of parameters to the JSON Schema that clients see. */
#include "internal.h"

size_t ppi_param_count(const pp_param *params, size_t room)
{
    size_t count = 0;
    while (count < room && params[count].kind != PP_KIND_NONE) {
        count++;
    }
    return count;
}

const char *ppi_default(const pp_param *param)
{
    if (param->otherwise || param->kind != PP_KIND_JSON) {
        return param->otherwise;
    }
    return pp_json_source(pp_json_member(pp_json_parse(param->detail, strlen(param->detail), NULL), "default"));
}

bool ppi_is_optional(const pp_param *param)
{
    return param->optional || ppi_default(param);
}

void ppi_each_choice(const char *choices, ppi_choice_visitor *visit, void *state)
{
    for (;;) {
        size_t length = strcspn(choices, "|");
        visit(state, choices, length);
        if (!choices[length]) {
            return;
        }
        choices += length + 1;
    }
}

typedef struct wanted {
    const char *text;
    size_t length;
    bool found;
} wanted;

static void compare(void *state, const char *choice, size_t length)
{
    wanted *one = state;
    one->found |= length == one->length && memcmp(choice, one->text, length) == 0;
}

bool ppi_is_choice(const char *choices, const char *text, size_t length)
{
    wanted one = {text, length, false};
    ppi_each_choice(choices, compare, &one);
    return one.found;
}

static void put_choice(void *state, const char *choice, size_t length)
{
    pp_put_text(state, NULL, pp_copy(choice, length));
}

/* The members of a schema written by hand, so that a description can stand among them. */
static void put_members(pp_doc *doc, const pp_param *param)
{
    const char *why = NULL;
    const pp_json *schema = pp_json_parse(param->detail, strlen(param->detail), &why);
    if (pp_json_kind_of(schema) != PP_JSON_OBJECT) {
        ppi_stop("the schema of \"%s\" is no JSON object: %s", param->name, why ? why : param->detail);
    }
    for (const pp_json *member = pp_json_at(schema, 0); member; member = pp_json_next(member)) {
        bool is_replaced = param->otherwise && strcmp(pp_json_key(member), "default") == 0;
        if (!is_replaced) {
            pp_put_json(doc, pp_json_key(member), pp_json_source(member));
        }
    }
}

static void put_type(pp_doc *doc, const pp_param *param)
{
    static const char *const types[] = {
        [PP_KIND_STRING] = "string", [PP_KIND_CHOICE] = "string", [PP_KIND_INTEGER] = "integer",
        [PP_KIND_NUMBER] = "number", [PP_KIND_BOOL] = "boolean",
    };
    if (param->kind == PP_KIND_JSON) {
        put_members(doc, param);
        return;
    }
    pp_put_text(doc, "type", types[param->kind]);
    if (param->kind == PP_KIND_CHOICE) {
        pp_open_array(doc, "enum");
        ppi_each_choice(param->detail, put_choice, doc);
        pp_close(doc);
    }
    if (param->ranged && param->kind == PP_KIND_INTEGER) {
        pp_put_integer(doc, "minimum", param->lowest);
        pp_put_integer(doc, "maximum", param->highest);
    } else if (param->ranged) {
        pp_put_number(doc, "minimum", param->least);
        pp_put_number(doc, "maximum", param->most);
    }
}

static void put_property(pp_doc *doc, const pp_param *param)
{
    pp_open_object(doc, param->name);
    put_type(doc, param);
    if (param->title) {
        pp_put_text(doc, "title", param->title);
    }
    if (param->description) {
        pp_put_text(doc, "description", param->description);
    }
    if (param->otherwise) {
        pp_put_json(doc, "default", param->otherwise);
    }
    pp_close(doc);
}

const char *ppi_schema(const pp_param *params, size_t room, bool closed)
{
    size_t count = ppi_param_count(params, room), required = 0;
    pp_doc *doc = pp_object();
    pp_put_text(doc, "type", "object");
    pp_open_object(doc, "properties");
    for (size_t at = 0; at < count; at++) {
        put_property(doc, &params[at]);
        required += !ppi_is_optional(&params[at]);
    }
    pp_close(doc);
    if (required > 0) {
        pp_open_array(doc, "required");
        for (size_t at = 0; at < count; at++) {
            if (!ppi_is_optional(&params[at])) {
                pp_put_text(doc, NULL, params[at].name);
            }
        }
        pp_close(doc);
    }
    if (closed) {
        pp_put_bool(doc, "additionalProperties", false);
    }
    return pp_doc_text(doc);
}
