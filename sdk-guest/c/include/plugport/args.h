/* Parameters: their declarations and the values of one call.
 *
 * One table row says a name, a type and a description; from it come the schema that clients see, the check of what they
 * send, and the getters' types. The same rows describe arguments, structured results and forms for people.
 */
#ifndef PLUGPORT_ARGS_H
#define PLUGPORT_ARGS_H

#include "json.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The maximum number of rows of a table. For more parameters, write a schema by hand. */
#define PP_MOST_PARAMS 12

typedef enum pp_kind {
    PP_KIND_NONE,
    PP_KIND_STRING,
    PP_KIND_CHOICE,
    PP_KIND_INTEGER,
    PP_KIND_NUMBER,
    PP_KIND_BOOL,
    PP_KIND_JSON
} pp_kind;

typedef struct pp_param {
    pp_kind kind;
    const char *name;
    /* the choices, or the schema */
    const char *detail;
    bool ranged;
    /* of a number */
    double least, most;
    /* of an integer */
    int64_t lowest, highest;
    const char *description;
    const char *title;
    bool optional;
    /* the default as JSON; such a parameter is optional */
    const char *otherwise;
} pp_param;

/* Each takes a description, and after it `.title = "..."`, `.optional = true` and `.otherwise = "JSON"` as needed. */
#define PP_STRING(named, ...) {.kind = PP_KIND_STRING, .name = named, .description = __VA_ARGS__}
#define PP_BOOL(named, ...) {.kind = PP_KIND_BOOL, .name = named, .description = __VA_ARGS__}
/* One of "a|b|c". */
#define PP_CHOICE(named, choices, ...)                                                     \
    {.kind = PP_KIND_CHOICE, .name = named, .detail = choices, .description = __VA_ARGS__}
#define PP_INTEGER(named, ...) {.kind = PP_KIND_INTEGER, .name = named, .description = __VA_ARGS__}
#define PP_INTEGER_IN(named, from, to, ...) \
    {.kind = PP_KIND_INTEGER,               \
     .name = named,                         \
     .ranged = true,                        \
     .lowest = (int64_t)(from),             \
     .highest = (int64_t)(to),              \
     .description = __VA_ARGS__}
#define PP_NUMBER(named, ...) {.kind = PP_KIND_NUMBER, .name = named, .description = __VA_ARGS__}
#define PP_NUMBER_IN(named, from, to, ...)                                                                             \
    {.kind = PP_KIND_NUMBER, .name = named, .ranged = true, .least = (from), .most = (to), .description = __VA_ARGS__}
/* Anything else, with a JSON Schema of your own. A `default` in it counts like `.otherwise`; those of members below
 * `properties`, `items`, `prefixItems` and `additionalProperties` (unless there are `patternProperties`) are filled in
 * too. */
#define PP_JSON(named, schema, ...) {.kind = PP_KIND_JSON, .name = named, .detail = schema, .description = __VA_ARGS__}

/* What came: arguments, variables of a URI, or a filled form. */
typedef struct pp_args pp_args;

/* Asking for a name that is not declared ends the call with a message: it is a mistake in the plugin. */
bool pp_has(const pp_args *args, const char *name);
/* NULL when the argument is missing. Text with U+0000 is rejected before the call. */
const char *pp_string(const pp_args *args, const char *name);
/* 0 when the argument is missing. */
int64_t pp_integer(const pp_args *args, const char *name);
double pp_number(const pp_args *args, const char *name);
bool pp_bool(const pp_args *args, const char *name);
const pp_json *pp_value(const pp_args *args, const char *name);

#ifdef __cplusplus
}
#endif
#endif
