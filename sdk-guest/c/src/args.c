/* Compares the arguments of a call with their declarations.
 *
 * The host has checked arguments against the schema already. They are checked here again, since forms, prompts and
 * tests take another way, and since C would read a wrong type without a word.
 */
#include "internal.h"

static const pp_param *declared(const pp_args *args, const char *name, size_t length)
{
    for (size_t at = 0; at < args->count; at++) {
        if (strlen(args->params[at].name) == length && memcmp(args->params[at].name, name, length) == 0) {
            return &args->params[at];
        }
    }
    return NULL;
}

static const char *range_of(const pp_param *param)
{
    if (!param->ranged) {
        return "";
    }
    return param->kind == PP_KIND_INTEGER
               ? pp_format(" from %lld to %lld", (long long)param->lowest, (long long)param->highest)
               : pp_format(" from %.15g to %.15g", param->least, param->most);
}

static bool is_integer_within(const pp_param *param, const pp_json *value)
{
    int64_t integer;
    return pp_json_integer(value, &integer) &&
           (!param->ranged || (integer >= param->lowest && integer <= param->highest));
}

static bool is_number_within(const pp_param *param, const pp_json *value)
{
    double number = pp_json_number(value);
    return pp_json_kind_of(value) == PP_JSON_NUMBER &&
           (!param->ranged || (number >= param->least && number <= param->most));
}

/* What the parameter wants, where the value is not that. */
static const char *complaint(const pp_param *param, const pp_json *value)
{
    size_t length = 0;
    const char *text = pp_json_text(value, &length);
    switch (param->kind) {
    case PP_KIND_STRING:
        return !text ? "be a text" : memchr(text, 0, length) ? "not have U+0000 in it" : NULL;
    case PP_KIND_CHOICE:
        return text && ppi_is_choice(param->detail, text, length) ? NULL : pp_format("be one of %s", param->detail);
    case PP_KIND_INTEGER:
        return is_integer_within(param, value) ? NULL : pp_format("be a whole number%s", range_of(param));
    case PP_KIND_NUMBER:
        return is_number_within(param, value) ? NULL : pp_format("be a number%s", range_of(param));
    case PP_KIND_BOOL:
        return pp_json_kind_of(value) == PP_JSON_BOOL ? NULL : "be true or false";
    default:
        return NULL;
    }
}

/* A null stands for nothing where an argument may be missing, as the host has it. */
static const pp_json *given(const pp_args *args, const pp_param *param, const char *name)
{
    const pp_json *value = pp_json_member(args->values, name);
    bool absent = param && param->kind != PP_KIND_JSON && ppi_is_optional(param);
    return absent && pp_json_kind_of(value) == PP_JSON_NULL ? NULL : value;
}

static const char *names_of(const pp_args *args)
{
    const char *names = args->count > 0 ? args->params[0].name : "none";
    for (size_t at = 1; at < args->count; at++) {
        names = pp_format("%s, %s", names, args->params[at].name);
    }
    return names;
}

const char *ppi_argument_error(const pp_args *args, const char *whose)
{
    if (pp_json_kind_of(args->values) != PP_JSON_OBJECT) {
        return "the arguments must be a JSON object";
    }
    for (const pp_json *value = pp_json_at(args->values, 0); value; value = value->next) {
        if (whose && !args->open && !declared(args, value->key, value->key_length)) {
            return pp_format("there is no argument `%s`; this %s takes %s", value->key, whose, names_of(args));
        }
    }
    const char *noun = whose ? "argument" : "field";
    for (size_t at = 0; at < args->count; at++) {
        const pp_param *param = &args->params[at];
        const pp_json *value = given(args, param, param->name);
        if (!value && !ppi_is_optional(param)) {
            return pp_format("the %s `%s` is missing", noun, param->name);
        }
        const char *wanted = value ? complaint(param, value) : NULL;
        if (wanted) {
            return pp_format("the %s `%s` must %s", noun, param->name, wanted);
        }
    }
    return NULL;
}

static bool fits(pp_kind kind, pp_kind wanted)
{
    return kind == wanted || wanted == PP_KIND_JSON || (wanted == PP_KIND_STRING && kind == PP_KIND_CHOICE) ||
           (wanted == PP_KIND_NUMBER && kind == PP_KIND_INTEGER);
}

/* The value or the default of a parameter that the tool reads as type `wanted`. */
static const pp_json *look_up(const pp_args *args, const char *name, pp_kind wanted)
{
    const pp_param *param = declared(args, name, strlen(name));
    if (!param && !args->open) {
        ppi_stop("the plugin asks for `%s`, which its table does not declare; it declares %s", name, names_of(args));
    }
    if (param && !fits(param->kind, wanted)) {
        ppi_stop("the plugin asks for `%s` as another type than its table declares", name);
    }
    const pp_json *value = given(args, param, name);
    const char *otherwise = value || !param ? NULL : ppi_default(param);
    return otherwise ? pp_json_parse(otherwise, strlen(otherwise), NULL) : value;
}

bool pp_has(const pp_args *args, const char *name)
{
    return look_up(args, name, PP_KIND_JSON) != NULL;
}

const char *pp_string(const pp_args *args, const char *name)
{
    return pp_json_text(look_up(args, name, PP_KIND_STRING), NULL);
}

int64_t pp_integer(const pp_args *args, const char *name)
{
    int64_t integer = 0;
    return pp_json_integer(look_up(args, name, PP_KIND_INTEGER), &integer) ? integer : 0;
}

double pp_number(const pp_args *args, const char *name)
{
    return pp_json_number(look_up(args, name, PP_KIND_NUMBER));
}

bool pp_bool(const pp_args *args, const char *name)
{
    return pp_json_is_true(look_up(args, name, PP_KIND_BOOL));
}

const pp_json *pp_value(const pp_args *args, const char *name)
{
    return look_up(args, name, PP_KIND_JSON);
}
