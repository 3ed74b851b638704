/* What tools, resources and prompts return.
 *
 * One type serves all three, since a text is a text: a tool's content, a resource's content, or a prompt's message from
 * the user. Whatever is passed in is copied.
 */
#ifndef PLUGPORT_RESULT_H
#define PLUGPORT_RESULT_H

#include "json.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pp_result pp_result;

pp_result *pp_text(const char *format, ...) PP_PRINTF(1, 2);
/* Structured content, and the same JSON as text. */
pp_result *pp_structured(pp_doc *doc);
/* Bytes of a resource; as a tool's content they are an image or audio if their type is. */
pp_result *pp_bytes(const void *data, size_t size, const char *mime_type);
/* Nothing yet: add to it. */
pp_result *pp_nothing(void);

/* A tool's error, which the model reads: say what to do. */
pp_result *pp_error(const char *format, ...) PP_PRINTF(1, 2);
/* There is no such resource. */
pp_result *pp_not_found(const char *format, ...) PP_PRINTF(1, 2);
/* The request itself cannot be served. */
pp_result *pp_invalid(const char *format, ...) PP_PRINTF(1, 2);

/* Each adds one piece and returns the result. */
pp_result *pp_add_text(pp_result *result, const char *format, ...) PP_PRINTF(2, 3);
pp_result *pp_add_image(pp_result *result, const void *data, size_t size, const char *mime_type);
pp_result *pp_add_audio(pp_result *result, const void *data, size_t size, const char *mime_type);
/* A resource within the result. */
pp_result *pp_add_text_resource(pp_result *result, const char *uri, const char *mime_type, const char *text);
pp_result *pp_add_link(pp_result *result, const char *uri, const char *name);
/* Messages of a prompt. */
pp_result *pp_add_user(pp_result *result, const char *format, ...) PP_PRINTF(2, 3);
pp_result *pp_add_assistant(pp_result *result, const char *format, ...) PP_PRINTF(2, 3);
/* A JSON object of further MCP fields, such as `_meta`. */
pp_result *pp_extra(pp_result *result, const char *json);

typedef enum pp_failure_kind {
    PP_FAILED_NOT_FOUND,
    PP_FAILED_INVALID_PARAMS,
    PP_FAILED_INTERNAL,
    PP_FAILED_MISSING_CAPABILITY,
    PP_FAILED_DENIED,
    PP_FAILED_OVER_BUDGET,
    PP_FAILED_TIMED_OUT,
    PP_FAILED_CANCELLED,
    PP_FAILED_REJECTED,
    PP_FAILED_RPC
} pp_failure_kind;

/* Why the host could not do something. */
typedef struct pp_failure {
    pp_failure_kind kind;
    /* never NULL */
    const char *message;
    /* of PP_FAILED_RPC alone */
    int32_t code;
    const char *data;
} pp_failure;

/* Hands on what the host said; the client gets what MCP has for it. */
pp_result *pp_failed(const pp_failure *failure);

#ifdef __cplusplus
}
#endif
#endif
