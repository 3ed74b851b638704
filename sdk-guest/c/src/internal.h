/* What the parts of the SDK share. Authors do not include this. */
#ifndef PLUGPORT_INTERNAL_H
#define PLUGPORT_INTERNAL_H

#include <stdarg.h>
#include <string.h>

#include "plugin.h"
#include "plugport.h"

#define PP_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* memory.c */
char *ppi_format(const char *format, va_list values);
void ppi_forget_all(void);
/* Runs `last` with `state` when the memory is given back. */
typedef void ppi_last_job(void *state);
void ppi_at_end(ppi_last_job *last, void *state);
/* Says why on stderr, which is the server's log, and ends the call. */
_Noreturn void ppi_stop(const char *format, ...) PP_PRINTF(1, 2);

/* utf8.c: length of a well formed character at `text`, or 0. */
size_t ppi_character(const unsigned char *text, size_t left);
/* `text` with U+FFFD for whatever is not UTF-8. */
const char *ppi_utf8(const char *text, size_t *length);

/* json_write.c */
/* How deep JSON may be nested, here as at the host: common parsers give up between this and twice as much. */
#define PPI_MOST_DEPTH 64
/* As it is, without a comma before it. */
void ppi_put_bytes(pp_doc *doc, const char *bytes, size_t length);
/* A text in quotes, which may have U+0000 in it. */
void ppi_put_quoted(pp_doc *doc, const char *text, size_t length);
/* Whether a value was omitted because it was nested too deeply. */
bool ppi_doc_is_cut(const pp_doc *doc);

/* json_value.c */
struct pp_json {
    pp_json_kind kind;
    bool truth;
    /* of text, decoded; of a number, as it was written; ends with a zero */
    const char *text;
    size_t length;
    const char *key;
    size_t key_length;
    const char *source;
    size_t source_length;
    size_t count;
    pp_json *first, *last, *next;
};

pp_json *ppi_json_new(pp_json_kind kind);
void ppi_json_add(pp_json *parent, pp_json *child);
pp_json *ppi_json_of_text(const char *text, size_t length);
/* The member of that key, which may have U+0000 in it. */
const pp_json *ppi_json_member(const pp_json *value, const char *key, size_t length);

/* args.c */
struct pp_args {
    const pp_param *params;
    size_t count;
    /* anything may be asked for */
    bool open;
    const pp_json *values;
};

size_t ppi_param_count(const pp_param *params, size_t room);
/* NULL, or what is wrong with the values. Forms are nobody's, and may have fields that were not asked for. */
const char *ppi_argument_error(const pp_args *args, const char *whose);
bool ppi_is_optional(const pp_param *param);
/* The default as JSON, also that of a schema of the author's own; NULL if there is none. */
const char *ppi_default(const pp_param *param);

/* defaults.c: the arguments with the defaults that the rows' schemas have for what is missing. They are an object. */
const pp_json *ppi_filled(const pp_args *args);

/* schema.c */
const char *ppi_schema(const pp_param *params, size_t room, bool closed);
/* Calls `visit` for each of "a|b|c". */
typedef void ppi_choice_visitor(void *state, const char *choice, size_t length);
void ppi_each_choice(const char *choices, ppi_choice_visitor *visit, void *state);
bool ppi_is_choice(const char *choices, const char *text, size_t length);

/* result.c */
typedef enum ppi_piece_kind { PPI_TEXT, PPI_BYTES, PPI_IMAGE, PPI_AUDIO, PPI_EMBEDDED, PPI_LINK } ppi_piece_kind;

typedef struct ppi_piece {
    ppi_piece_kind kind;
    bool from_assistant;
    const char *data;
    size_t size;
    const char *mime_type, *uri, *name;
    struct ppi_piece *next;
} ppi_piece;

struct pp_result {
    /* a tool's error, or with `failed` the failure below */
    bool is_error, failed;
    pp_failure failure;
    size_t count;
    ppi_piece *first, *last;
    const char *structured, *extra;
};

/* wit_strings.c: to and from the host's memory. What goes there is copied, what comes is copied and given back. */
void *ppi_host_alloc(size_t count, size_t size);
plugin_string_t ppi_lower(const char *text);
plugin_string_t ppi_lower_n(const char *text, size_t length);
plugin_option_string_t ppi_lower_option(const char *text);
/* For imports: no copy, since the host only reads. */
plugin_string_t ppi_lend(const char *text);
const char *ppi_lift(plugin_string_t *text);
const char *ppi_lift_n(plugin_string_t *text, size_t *length);
/* For imports: no copy of bytes either. */
plugin_list_u8_t ppi_lend_bytes(const void *data, size_t size);
const char *ppi_lift_bytes(plugin_list_u8_t *bytes, size_t *size);
/* A failure that the SDK words. */
const pp_failure *ppi_failure(pp_failure_kind kind, const char *format, ...) PP_PRINTF(2, 3);
const pp_failure *ppi_lift_failure(plugport_plugin_types_error_t *error);
void ppi_lower_failure(const pp_failure *failure, plugport_plugin_types_error_t *error);

/* to_wit.c */
void ppi_lower_tool_result(const pp_result *result, exports_plugport_plugin_tools_tool_result_t *out);
void ppi_lower_contents(const pp_result *result, const char *uri, const char *mime_type,
                        exports_plugport_plugin_resources_list_resource_contents_t *out);
void ppi_lower_messages(const pp_result *result, exports_plugport_plugin_prompts_prompt_result_t *out);

/* call.c */
struct pp_call {
    plugport_plugin_request_own_call_t own;
    plugport_plugin_request_borrow_call_t handle;
};

/* Every export that serves a call stands between these two. */
pp_call ppi_begin(plugport_plugin_request_own_call_t own);
void ppi_end(pp_call *call);
/* The same for those without one. */
void ppi_settle(void);
/* The failure in `result`, or NULL if the call succeeded. */
const pp_failure *ppi_failure_of(const pp_result *result, bool for_tool);

/* prompts.c */
const pp_json *ppi_lift_pairs(plugin_list_tuple2_string_string_t *pairs);

#endif
