/* The border: C strings here, the host's strings there.
 *
 * What goes out is copied to memory that the generated code frees after the call. What comes in is copied to the memory
 * of the call, and the original given back.
 */
#include <stdlib.h>

#include "internal.h"

/* Weak, so that tests can keep track of it. */
__attribute__((weak)) void *ppi_host_alloc(size_t count, size_t size)
{
    void *memory = count > 0 ? calloc(count, size) : NULL;
    if (count > 0 && !memory) {
        ppi_stop("out of memory: a result needs %zu times %zu bytes more", count, size);
    }
    return memory;
}

plugin_string_t ppi_lower_n(const char *text, size_t length)
{
    const char *sound = ppi_utf8(text, &length);
    plugin_string_t lowered = {ppi_host_alloc(length, 1), length};
    if (length > 0) {
        memcpy(lowered.ptr, sound, length);
    }
    return lowered;
}

plugin_string_t ppi_lower(const char *text)
{
    return ppi_lower_n(text ? text : "", text ? strlen(text) : 0);
}

plugin_option_string_t ppi_lower_option(const char *text)
{
    plugin_option_string_t lowered = {text != NULL, ppi_lower(text)};
    return lowered;
}

plugin_string_t ppi_lend(const char *text)
{
    size_t length = strlen(text);
    const char *sound = ppi_utf8(text, &length);
    plugin_string_t lent = {(uint8_t *)(uintptr_t)sound, length};
    return lent;
}

const char *ppi_lift_n(plugin_string_t *text, size_t *length)
{
    const char *lifted = pp_copy(text->ptr, text->len);
    *length = text->len;
    if (text->len > 0) {
        free(text->ptr);
    }
    text->ptr = NULL;
    text->len = 0;
    return lifted;
}

const char *ppi_lift(plugin_string_t *text)
{
    size_t length;
    return ppi_lift_n(text, &length);
}

plugin_list_u8_t ppi_lend_bytes(const void *data, size_t size)
{
    plugin_list_u8_t lent = {(uint8_t *)(uintptr_t)data, size};
    return lent;
}

const char *ppi_lift_bytes(plugin_list_u8_t *bytes, size_t *size)
{
    plugin_string_t same = {bytes->ptr, bytes->len};
    return ppi_lift_n(&same, size);
}

const pp_failure *ppi_failure(pp_failure_kind kind, const char *format, ...)
{
    pp_failure *failure = pp_alloc(sizeof(pp_failure));
    va_list values;
    va_start(values, format);
    failure->kind = kind;
    failure->message = ppi_format(format, values);
    va_end(values);
    return failure;
}

/* The text of an error that carries one. They all stand at the same place. */
static plugin_string_t *message_of(plugport_plugin_types_error_t *error)
{
    switch (error->tag) {
    case PLUGPORT_PLUGIN_TYPES_ERROR_TIMED_OUT:
    case PLUGPORT_PLUGIN_TYPES_ERROR_CANCELLED:
        return NULL;
    case PLUGPORT_PLUGIN_TYPES_ERROR_RPC:
        return &error->val.rpc.message;
    default:
        return &error->val.internal;
    }
}

const pp_failure *ppi_lift_failure(plugport_plugin_types_error_t *error)
{
    pp_failure *failure = pp_alloc(sizeof(pp_failure));
    plugin_string_t *message = message_of(error);
    /* The kinds are numbered as in the WIT. */
    failure->kind = (pp_failure_kind)error->tag;
    failure->message = message                                               ? ppi_lift(message)
                       : error->tag == PLUGPORT_PLUGIN_TYPES_ERROR_TIMED_OUT ? "nobody answered in time"
                                                                             : "the call was cancelled";
    if (error->tag == PLUGPORT_PLUGIN_TYPES_ERROR_RPC) {
        failure->code = error->val.rpc.code;
        failure->data = error->val.rpc.data.is_some ? ppi_lift(&error->val.rpc.data.val) : NULL;
    }
    return failure;
}

void ppi_lower_failure(const pp_failure *failure, plugport_plugin_types_error_t *error)
{
    memset(error, 0, sizeof *error);
    error->tag = (uint8_t)failure->kind;
    plugin_string_t *message = message_of(error);
    if (message) {
        *message = ppi_lower(failure->message);
    }
    if (failure->kind == PP_FAILED_RPC) {
        error->val.rpc.code = failure->code;
        error->val.rpc.data = ppi_lower_option(failure->data);
    }
}
